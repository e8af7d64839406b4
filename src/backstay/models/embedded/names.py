"""What Chinese names look like: people by their family name, places by their last character."""

from __future__ import annotations

import re

_FAMILY = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭陆汪范金石廖贾夏韦付方白邹孟熊"
    "秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
_PERSON = re.compile(
    f"(?:欧阳|司马|上官|诸葛|[{_FAMILY}])[\u4e00-\u9fff]{{1,2}}|[小老阿][{_FAMILY}]|[{_FAMILY}](?:先生|女士|经理|总|老师|医生)"
)
_PLACE = re.compile("[\u4e00-\u9fff]{1,5}(?:区|市|县|镇|省|州|村|路|街)")
_FIRM = re.compile("[\u4e00-\u9fffA-Za-z]{1,8}(?:公司|集团|科技|银行|大学|学院|医院|学校|商店|超市|工厂|局|厂|部门?)")
_SITE = re.compile("[\u4e00-\u9fff]{1,5}(?:仓库?|店|站|机场|港|楼|厅|馆|室)")
_OF_SITE = re.compile(r"\b(?:warehouse|store|branch|site|station|venue|room|source|target)\b")
_OF_PERSON = re.compile(
    r"\b(?:who|whom|person|people|customer|client|recipient|receiver|sender|assignee|owner|guests?|attendees?"
    r"|colleague|contact|author|full name|participants?)\b"
)
_OF_PLACE = re.compile(r"\b(?:place|city|town|location|district|area|region|address|where|destination|origin)\b")


def looks_named(text: str, slot_words: str) -> float:
    """How much a Chinese text looks like a name of the kind that a slot's name and description ask for, 0 to 1."""
    words = slot_words.casefold().replace("_", " ")
    if _OF_PERSON.search(words) and _PERSON.fullmatch(text):
        return 1.0 if len(text) > 2 or text[0] in "小老阿" else 0.7
    is_firm = _OF_PERSON.search(words) and _FIRM.fullmatch(text)
    is_place = _OF_PLACE.search(words) and _PLACE.fullmatch(text)
    is_site = _OF_SITE.search(words) and _SITE.fullmatch(text)
    return 1.0 if is_firm or is_place or is_site else 0.0
