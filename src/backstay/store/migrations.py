"""The tables of a durable store, as one list of migrations; the schema version is how many of them were applied.

A migration is only ever added, never changed. Source: DESIGN 4; SPEC D5.
"""

from __future__ import annotations

_FIRST = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE sessions (
        session_id TEXT PRIMARY KEY, root_id TEXT NOT NULL, seq INTEGER NOT NULL DEFAULT 0,
        snapshot INTEGER NOT NULL DEFAULT 0, tail INTEGER NOT NULL DEFAULT 1,
        owner TEXT, driver TEXT, epoch INTEGER NOT NULL DEFAULT 0, until REAL NOT NULL DEFAULT 0)
        WITHOUT ROWID""",
    "CREATE INDEX sessions_child ON sessions (root_id) WHERE session_id <> root_id",
    """CREATE TABLE records (
        session_id TEXT NOT NULL, seq INTEGER NOT NULL, run_id TEXT NOT NULL, kind TEXT NOT NULL,
        version INTEGER NOT NULL, at REAL NOT NULL, trace_id TEXT NOT NULL, span_id TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (session_id, seq))""",
    """CREATE TABLE arrivals (
        id INTEGER PRIMARY KEY, session_id TEXT NOT NULL, root_id TEXT NOT NULL, run_id TEXT NOT NULL,
        kind TEXT NOT NULL, version INTEGER NOT NULL, at REAL NOT NULL, trace_id TEXT NOT NULL, span_id TEXT NOT NULL,
        body TEXT NOT NULL)""",
    "CREATE INDEX arrivals_run ON arrivals (run_id, kind)",
    "CREATE INDEX arrivals_session ON arrivals (session_id, kind)",
    "CREATE INDEX arrivals_root ON arrivals (root_id, kind)",
    """CREATE TABLE runs (
        run_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, root_id TEXT NOT NULL,
        parent_id TEXT, agent TEXT NOT NULL, agent_digest TEXT NOT NULL, tenant TEXT NOT NULL, person TEXT NOT NULL,
        principal TEXT NOT NULL, trace_id TEXT NOT NULL, status TEXT NOT NULL, created_at REAL NOT NULL,
        wake_at REAL) WITHOUT ROWID""",
    "CREATE INDEX runs_person ON runs (tenant, person, run_id)",
    "CREATE INDEX runs_status ON runs (status, run_id) WHERE status <> 'done'",
    "CREATE INDEX runs_waiting ON runs (session_id) WHERE status IN ('waiting', 'needs_narrowing')",
    "CREATE INDEX runs_wake ON runs (wake_at) WHERE wake_at IS NOT NULL",
    "CREATE TABLE dedups (dedup TEXT PRIMARY KEY, run_id TEXT NOT NULL) WITHOUT ROWID",
    "CREATE INDEX dedups_run ON dedups (run_id)",
    """CREATE TABLE effects (
        session_id TEXT NOT NULL, key TEXT NOT NULL, effect TEXT NOT NULL, digest TEXT NOT NULL,
        attempt INTEGER NOT NULL, epoch INTEGER NOT NULL, reserve TEXT NOT NULL, outcome TEXT,
        PRIMARY KEY (session_id, key)) WITHOUT ROWID""",
    """CREATE TABLE ledger (
        session_id TEXT NOT NULL, key TEXT NOT NULL, reserved TEXT NOT NULL, committed TEXT NOT NULL,
        PRIMARY KEY (session_id, key)) WITHOUT ROWID""",
    """CREATE TABLE actions (
        id TEXT PRIMARY KEY, version INTEGER NOT NULL, state TEXT NOT NULL, run_id TEXT NOT NULL,
        session_id TEXT NOT NULL, root_id TEXT NOT NULL, tenant TEXT NOT NULL, person TEXT NOT NULL,
        expires_at REAL NOT NULL, body TEXT NOT NULL, seal TEXT NOT NULL)""",
    "CREATE INDEX actions_state ON actions (state, id)",
    "CREATE INDEX actions_person ON actions (tenant, person, state, id)",
    "CREATE INDEX actions_open ON actions (expires_at) WHERE state = 'open'",
    "CREATE INDEX actions_root ON actions (root_id)",
    """CREATE TABLE audit (
        session_id TEXT NOT NULL, n INTEGER NOT NULL, run_id TEXT NOT NULL, slot INTEGER NOT NULL, kind TEXT NOT NULL,
        tool TEXT NOT NULL, args_digest TEXT NOT NULL, result_digest TEXT NOT NULL, rules TEXT NOT NULL,
        who TEXT NOT NULL, at REAL NOT NULL, hash TEXT NOT NULL, PRIMARY KEY (session_id, n)) WITHOUT ROWID""",
    """CREATE TABLE heads (
        session_id TEXT PRIMARY KEY, n INTEGER NOT NULL, hash TEXT NOT NULL, seal TEXT NOT NULL) WITHOUT ROWID""",
    """CREATE TABLE board (
        scope TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (scope, key)) WITHOUT ROWID""",
    """CREATE TABLE spans (
        trace_id TEXT NOT NULL, span_id TEXT NOT NULL, run_id TEXT NOT NULL, session_id TEXT NOT NULL,
        is_root INTEGER NOT NULL, started_at REAL NOT NULL, body TEXT NOT NULL, PRIMARY KEY (trace_id, span_id))""",
    "CREATE INDEX spans_run ON spans (run_id)",
    "CREATE INDEX spans_session ON spans (session_id)",
    "CREATE INDEX spans_roots ON spans (started_at, trace_id) WHERE is_root = 1",
)

_FILES = (
    "CREATE TABLE blobs (digest TEXT PRIMARY KEY, data BLOB NOT NULL)",
    """CREATE TABLE artifacts (
        session_id TEXT NOT NULL, ref TEXT NOT NULL, digest TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY (session_id, ref)) WITHOUT ROWID""",
    "CREATE INDEX artifacts_digest ON artifacts (digest)",
)

_OWNERS = (
    # A session is its first run's principal's. A session that an older process adds has no owner here; its runs tell.
    "ALTER TABLE sessions ADD COLUMN tenant TEXT",
    "ALTER TABLE sessions ADD COLUMN person TEXT",
    "CREATE INDEX runs_owner ON runs (session_id, created_at, run_id)",
    """UPDATE sessions SET (tenant, person) = (SELECT r.tenant, r.person FROM runs r
        WHERE r.session_id = sessions.session_id ORDER BY r.created_at, r.run_id LIMIT 1)""",
    "DROP INDEX runs_owner",
    """UPDATE OR IGNORE dedups SET dedup = (SELECT length(r.tenant) || ':' || r.tenant || length(r.person) || ':'
        || r.person || dedup FROM runs r WHERE r.run_id = dedups.run_id)
        WHERE EXISTS (SELECT 1 FROM runs r WHERE r.run_id = dedups.run_id)""",
)

_STANDING = (
    # Halts and grants, how often they have changed, and at which change a run was parked.
    "INSERT INTO meta (name, value) VALUES ('standing', '0')",
    """CREATE TABLE halts (
        scope TEXT NOT NULL, name TEXT NOT NULL, at REAL NOT NULL, body TEXT NOT NULL, seal TEXT NOT NULL,
        PRIMARY KEY (scope, name)) WITHOUT ROWID""",
    "CREATE TABLE grants (id TEXT PRIMARY KEY, at REAL NOT NULL, body TEXT NOT NULL, seal TEXT NOT NULL)",
    "ALTER TABLE runs ADD COLUMN parked INTEGER",
    "CREATE INDEX runs_parked ON runs (parked) WHERE parked IS NOT NULL",
)

_BUSY = (
    # How far ahead a queued input goes; and the runs that inputs become which the run at work has not taken in.
    "ALTER TABLE arrivals ADD COLUMN ahead INTEGER NOT NULL DEFAULT 0",
    """CREATE TABLE steering (
        run_id TEXT PRIMARY KEY, session_id TEXT NOT NULL, root_id TEXT NOT NULL,
        parent_id TEXT, agent TEXT NOT NULL, agent_digest TEXT NOT NULL, principal TEXT NOT NULL,
        trace_id TEXT NOT NULL, status TEXT NOT NULL, created_at REAL NOT NULL, tenant TEXT NOT NULL,
        person TEXT NOT NULL, dedup TEXT, into_run TEXT NOT NULL) WITHOUT ROWID""",
    "CREATE INDEX steering_into ON steering (into_run)",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST, _FILES, _OWNERS, _STANDING, _BUSY)
"""The statements of each version, oldest first."""
