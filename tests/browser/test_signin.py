"""A person signs in, in a real browser (spec.md §10)."""

from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.browser.chromium import FLAGS, find_or_install
from tests.running import running, todos

TOKEN = "s3cret"


def sign_in(page: Page, url: str) -> None:
    page.goto(f"{url}/sessions/a")
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_test_id("plan-strip")).to_be_visible()
    assert page.url == f"{url}/sessions/a"
    page.reload()
    expect(page.get_by_test_id("plan-strip")).to_be_visible()


def test_the_token_opens_the_page_that_was_asked_for(page: Page, database: Path) -> None:
    with running(database, token=TOKEN) as panel:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        panel.client.post("/api/sessions/a/todo_write", json={"todos": todos("x=i")}, headers=headers)
        sign_in(page, panel.url)


def test_so_it_does_on_a_host_of_the_local_network_without_tls(browser: Browser, database: Path) -> None:
    rules = "--host-resolver-rules=MAP plans.example 127.0.0.1"
    other = browser.browser_type.launch(executable_path=find_or_install(), args=[*FLAGS, rules])
    with running(database, token=TOKEN, allowed_hosts="plans.example") as panel:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        panel.client.post("/api/sessions/a/todo_write", json={"todos": todos("x=i")}, headers=headers)
        page = other.new_page()
        page.set_default_timeout(5_000)
        try:
            sign_in(page, panel.url.replace("127.0.0.1", "plans.example"))
        finally:
            other.close()
