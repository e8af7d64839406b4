"""What people say to an assistant that no tool is for: examples for the router, English and Chinese."""

TALK = (
    "Hello",
    "Hi, how are you?",
    "Good morning",
    "Thank you very much, that helped",
    "Goodbye",
    "Who are you and what can you do?",
    "I feel sad and tired today",
    "You are a good assistant",
    "Sing me a song",
    "Write a poem",
    "Give me advice about my life",
    "Recommend me a good film or book",
    "你好",
    "谢谢，帮了大忙",
    "再见",
    "你是谁，你会做什么？",
    "我心情不好，很难过",
    "写一首诗",
    "给我一点人生建议",
)
