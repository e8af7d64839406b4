"""Words of high impact, and what they are not."""

from __future__ import annotations

import pytest

from backstay.tools.danger import danger_in


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("delete_user", ""), ("deleteUser", ""), ("XMLDelete", ""), ("remove-all", ""), ("format_disk", ""),
        ("t", "Deletion of accounts."), ("t", "Removes every file in a folder."), ("t", "Dropping a table"),
        ("t", "Pays an invoice."), ("t", "The amount is paid out"), ("t", "Transferred at once"),
        ("t", "Places an order."), ("t", "Send a mass mail."), ("t", "Cancelled at once"), ("t", "Wire money abroad"),
        ("t", "Clean a folder.\n\nEverything older is erased."), ("t", "This cannot be undone."),
        ("t", "Not only looks but deletes."), ("t", "Overwrites the file"), ("t", "REFUND the customer"),
        ("t", "删除文件"), ("t", "给客户退款"), ("t", "批量修改订单"), ("t", "操作不可恢复"), ("t", "删掉旧记录"),
        ("清空购物车", ""), ("t", "覆盖原文件"), ("t", "格式化硬盘"),
    ],
)  # fmt: skip
def test_high_impact_is_seen(name: str, description: str) -> None:
    assert danger_in(name, description)


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("undeleted_items", "List undeleted mail."), ("payload", "Show the payload."), ("t", "Dates in ISO format."),
        ("format_date", "Format a date."), ("t", "Looks up the atomic mass."), ("t", "A drop-down list."),
        ("t", "Never deletes anything."), ("t", "It does not delete or remove files."),
        ("t", "Moves without deleting."),
        ("t", "Nothing is deleted."), ("t", "Cannot delete."), ("repayable", ""), ("t", "Wireless networks."),
        ("t", "测试覆盖率"), ("t", "不会删除文件"), ("t", "格式化日期"), ("search", "Find an order by its number."),
    ],
)  # fmt: skip
def test_ordinary_words_are_no_alarm(name: str, description: str) -> None:
    assert danger_in(name, description) is None
