"""Words of high impact, and what they are not."""

from __future__ import annotations

import pytest

from backstay import Agent, tool
from backstay.core.errors import ToolDefinitionError
from backstay.models import ScriptedModel
from backstay.tools.danger import danger_in

HARMFUL = """
delete_document delete_user deleteUser XMLDelete remove-all erase_disk purge_queue wipe_device drop_table destroy_vm
truncate_log unlink_file rmdir nuke_cluster clear_database clear_cart empty_trash uninstall_app terminate_instance
revoke_key decommission_host close_account get_rid_of_user cancel_order cancel_subscription refund refund_order
reimburse_expense return_money pay_invoice make_payment payout disburse_loan transfer_funds wire_money send_money
charge_card debit_account top_up_wallet purchase_item buy_ticket sell_shares donate place_order withdraw_cash
create_invoice settle_bill bulk_update mass_mail broadcast_message email_all_customers notify_everyone overwrite_file
reset_password force_push format_disk shutdown_server kill_process deploy_service sign_contract run_shell execute_sql
run_command execute_code find_and_remove_duplicates read_then_delete list_or_cancel mark_invoice_paid delete_history
transfer_balance charge_fees refund_amount restore_and_overwrite batch.delete 删除文件 删掉记录 清空购物车 销毁密钥
卸载应用 终止实例 吊销证书 注销账号 取消订单 退款 给客户退款 退订 付款 支付账单 转账 汇款 打款 扣款 充值 结算
购买机票 下单 卖出股票 提现 开票 批量修改 群发邮件 覆盖文件 重置密码 冻结账户 开除员工 解约 签署合同 格式化硬盘 关机
部署服务 执行命令 查询并退款 查看后删除
""".split()  # noqa: SIM905  # a list to read
HARMLESS = """
get_refund_status list_deleted_orders list_deleted_items deleted_items undeleted_items cancelled_orders paid_invoices
removed_members refund_status refund_policy refund_history payment_history payment_methods payment_details
list_payments find_payment check_payment verify_payment count_refunds search_invoices read_invoice show_cart
view_charges get_transfer_status transfer_history charge_history invoice_report purchase_history purchase_options
deployment_status deployment_logs list_deployments describe_deployment cancellation_policy cancellation_reasons
withdrawal_limits payout_schedule can_cancel_order is_refundable is_paid has_paid was_deleted preview_delete
estimate_refund calculate_payment compute_charge explain_charge compare_purchase_prices track_transfer
monitor_deployment audit_deletions inspect_terminated_instance get_delete_candidates fetch_revoked_keys
query_removed_users summarize_payments lookup_invoice look_up_refund getRefundStatus repayable refundable payload
show_payload format_date dropdown_options drop_down wireless_networks transferable search find_orders get_customer
list_files read_file weather send_note create_ticket update_address add_comment translate summarize_text
convert_currency set_reminder book_room rename_file move_card schedule_meeting upload_photo calculator current_time
stock_price calendar_events open_ticket assign_task archive_note create_draft post_comment 付款方式查询 查询退款进度
查询订单 查看已取消的订单 搜索发票 列出已删除的文件 统计退款 获取支付状态 退款进度查询 显示购买记录 计算运费 天气
翻译 创建工单 添加备注 更新地址 查找客户 读取文件 预订会议室 发送消息 浏览商品
""".split()  # noqa: SIM905  # a list to read
SAYS_HARM = [
    "Deletion of accounts.", "Removes every file in a folder.", "Dropping a table", "Pays an invoice.",
    "The amount is paid out", "Transferred at once", "Places an order.", "Send a mass mail.", "Cancelled at once",
    "Wire money abroad", "Clean a folder.\n\nEverything older is erased.", "This cannot be undone.",
    "Not only looks but deletes.", "Overwrites the file", "REFUND the customer", "Refunds a customer.",
    "Empties the trash.", "Clear all records", "Emails all customers", "Update every record", "Runs a shell",
    "Returns the money to the customer.", "Gets rid of a user.", "Execute any SQL", "Sells shares",
    "Find duplicates and delete them.", "Get an order and then cancel it",
    "Look up a customer. Refunds the last order.", "Find old files; they are deleted.",
    "List orders. Use it to cancel one.", "Check the invoice, then pay it.", "删除文件", "给客户退款",
    "批量修改订单", "操作不可恢复", "删掉旧记录", "覆盖原文件", "格式化硬盘", "查询订单并退款", "查看订单，然后取消",
    "代客户付款", "执行命令",
]  # fmt: skip
SAYS_NO_HARM = [
    "Dates in ISO format.", "Format a date.", "Looks up the atomic mass.", "A drop-down list.",
    "Never deletes anything.", "It does not delete or remove files.", "Moves without deleting.",
    "Nothing is deleted.", "Cannot delete.", "Wireless networks.", "Find an order by its number.",
    "List of deleted items, newest first.", "Find orders that were cancelled or refunded.",
    "Look up orders that are deleted.", "Get the status of a refund.", "Returns all payments of a customer.",
    "Where an order is: placed, paid or refunded.",
    "Orders of one customer. Use it when the user asks about delivery.", "How many invoices were paid.",
    "测试覆盖率", "不会删除文件", "格式化日期", "查询退款进度。", "查看已取消的订单", "返回已支付的订单列表",
    "付款方式查询",
]  # fmt: skip


@pytest.mark.parametrize("name", HARMFUL)
def test_a_name_of_high_impact_is_seen(name: str) -> None:
    assert danger_in(name, "")


@pytest.mark.parametrize("name", HARMLESS)
def test_an_ordinary_name_is_no_alarm(name: str) -> None:
    assert danger_in(name, "") is None


@pytest.mark.parametrize("description", SAYS_HARM)
def test_a_description_of_high_impact_is_seen(description: str) -> None:
    assert danger_in("t", description)


@pytest.mark.parametrize("description", SAYS_NO_HARM)
def test_an_ordinary_description_is_no_alarm(description: str) -> None:
    assert danger_in("t", description) is None


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("get_order", "An order with its refunds and payments. Use it before you cancel one."),
        ("payment_history", "Payments of a customer, newest first, refunds included."),
        ("list_deleted_orders", "Deleted orders. Use it when the user asks what was removed."),
        ("refund_status", "Refund of an order: asked for, paid, or refused."),
        ("查询退款", "退款进度。用户询问退款时使用。"),
    ],
)
def test_a_tool_that_only_looks_may_speak_of_what_it_looks_at(name: str, description: str) -> None:
    assert danger_in(name, description) is None


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("get_order", "Deletes the order."), ("list_orders", "All orders; old ones are deleted."),
        ("search", "Find a file and remove it."), ("refund_status", "Refunds a customer."),
        ("check_order", "Check an order, and pay it."), ("get_orders", "This cannot be undone."),
        ("查询订单", "查询订单，并取消它。"), ("查询订单", "删除订单。"),
    ],
)  # fmt: skip
def test_a_looking_name_does_not_excuse_what_the_tool_says_it_does(name: str, description: str) -> None:
    assert danger_in(name, description)


@pytest.mark.parametrize(
    ("name", "description"), [("delete_document", "Delete a document."), ("act", "删除文件。"), ("wipe", "Wipe it.")]
)
def test_an_agent_with_a_bare_tool_of_high_impact_is_not_built_and_says_what_to_write(
    name: str, description: str
) -> None:
    def bare(document_id: str) -> None: ...

    with pytest.raises(ToolDefinitionError) as caught:
        Agent(ScriptedModel("ok"), tools=[tool(name=name, description=description)(bare)])
    assert caught.value.code == "tool.risk_undeclared"
    for part in (name, "risk='high'", "risk='write'", "risk='read'"):
        assert part in caught.value.message
    for risk in ("high", "write", "read"):
        declared = tool(name=name, description=description, risk=risk)(bare)  # type: ignore[call-overload]  # a literal
        assert Agent(ScriptedModel("ok"), tools=[declared])
