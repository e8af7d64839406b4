"""Two peers' summarising memories on the same sessions, in an environment of their own: `.venv-peer-memory`."""
