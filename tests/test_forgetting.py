"""A session that is forgotten takes along what was given out to look at it (spec.md §1)."""

from pathlib import Path

from planstrip import view_tokens
from planstrip.db import for_writing
from planstrip.forgetting import forget_session
from planstrip.view_tokens import Wish
from tests.databases import url_of
from tests.stores import opened, write


def test_a_forgotten_sessions_view_tokens_go_with_it(database: Path) -> None:
    with opened(database) as store:
        wishes = Wish("a"), Wish("b"), Wish(board={"q": "a"})
        mine, others, boards = (view_tokens.make(wish, now=0) for wish in wishes)
        with for_writing(store.engine).begin() as connection:
            for token in (mine, others, boards):
                view_tokens.store(connection, token)
        store.append("a", write("secret-word=i"))
    assert forget_session(url_of(database), "a") == 1
    with opened(database) as store, store.reading() as connection:
        assert {token.id for token in view_tokens.all_tokens(connection)} == {others.id, boards.id}
        assert view_tokens.find(connection, mine.id) is None
