"""Notices to people: that something waits for them, again after a while, to others after longer, and how it ended."""

from backstay.agents.notices.chats import CHATS, ChatWebhook
from backstay.agents.notices.mail import Mail
from backstay.agents.notices.note import Note, Sink
from backstay.agents.notices.notifier import Notifier
from backstay.agents.notices.webhook import SIGNATURE, Webhook, signature_of

__all__ = ["CHATS", "SIGNATURE", "ChatWebhook", "Mail", "Note", "Notifier", "Sink", "Webhook", "signature_of"]
