"""The framework's own tools: recall, plan, questions and memory, offered only where they can do something."""
