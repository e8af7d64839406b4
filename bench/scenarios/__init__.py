"""The scenarios. A function of the scenario's name stands in the named module; it returns rows."""

MODULE_OF = {
    "import_cost": "imports",
    "bare": "one_run",
    "one_tool": "one_run",
    "tool_call": "tools",
    "many_tools": "tools",
    "ten_rounds": "rounds",
    "eighty_rounds": "rounds",
    "long_session": "long_session",
    "concurrent": "load",
    "flat": "load",
    "sqlite": "durable",
    "openai_stream": "openai_stream",
    "judge_call": "parts",
    "memory_record": "parts",
    "pending": "parts",
    "token_memory": "memories",
}
"""In the order in which they are printed. Nothing is imported here, so that a scenario's process starts clean."""
