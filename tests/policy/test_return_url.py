"""Where a browser may be sent on to: the same place for every program that reads the link, or nowhere."""

from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workflows.policy.return_url import allowed, objection, with_result

WELCOME = ("https://shop.example/welcome",)


@pytest.mark.parametrize(
    ("url", "beginning"),
    [
        pytest.param("https://shop.example", "https://shop.example", id="an origin alone"),
        pytest.param("https://shop.example/", "https://shop.example", id="its root"),
        pytest.param("https://shop.example", "https://shop.example/", id="its root, written out in the list"),
        pytest.param("https://shop.example/any/page", "https://shop.example", id="any page of an origin"),
        pytest.param("https://shop.example/welcome", WELCOME[0], id="the path"),
        pytest.param("https://shop.example/welcome/", WELCOME[0], id="the path with a slash"),
        pytest.param("https://shop.example/welcome/back", WELCOME[0], id="a page below"),
        pytest.param("https://shop.example/welcome?to=/cart#top", WELCOME[0], id="a query and a fragment"),
        pytest.param("https://shop.example/welcome/a", f"{WELCOME[0]}/", id="below a path with a slash"),
        pytest.param("HTTPS://SHOP.example/welcome", WELCOME[0], id="scheme and host in capitals"),
        pytest.param("https://shop.example:443/welcome", WELCOME[0], id="the port that goes without saying"),
        pytest.param("https://shop.example/x", "https://shop.example:443", id="the same in the list"),
        pytest.param("https://shop.example:8443/x", "https://shop.example:8443", id="a port"),
        pytest.param("https://shop.example/..welcome", "https://shop.example", id="dots that are no step"),
        pytest.param("https://xn--bcher-kva.example/x", "https://xn--bcher-kva.example", id="Punycode"),
        pytest.param("http://127.0.0.1:8025/x", "http://127.0.0.1:8025", id="http on loopback"),
        pytest.param("http://[::1]:8025/x", "http://[::1]:8025", id="http on loopback, IPv6"),
        pytest.param("http://app.localhost/x", "http://app.localhost", id="http on a name of loopback"),
        pytest.param("https://shop.example/x?q=results", "https://shop.example", id="a word like result"),
    ],
)
def test_a_link_with_a_beginning_from_the_list_is_allowed(url: str, beginning: str) -> None:
    assert allowed(url, ["https://other.example", beginning])


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://evil.example/welcome", id="another host"),
        pytest.param("https://shop.example.evil.example/welcome", id="the host as a beginning"),
        pytest.param("https://sub.shop.example/welcome", id="a host below"),
        pytest.param("https://shop.example./welcome", id="the host with a dot"),
        pytest.param("https://shop.example:8443/welcome", id="another port"),
        pytest.param("https://shop.example:/welcome", id="no port after the colon"),
        pytest.param("http://shop.example/welcome", id="without TLS"),
        pytest.param("https://shop.example/welcome-back", id="not at the end of a segment"),
        pytest.param("https://shop.example/Welcome", id="another case"),
        pytest.param("https://shop.example/", id="above"),
        pytest.param("https://shop.example/%77elcome", id="encoded: servers differ"),
        pytest.param("https://shop.example@evil.example/welcome", id="a user"),
        pytest.param("https://shop.example:pass@evil.example/welcome", id="a user and a password"),
        pytest.param("https://evil.example\\@shop.example/welcome", id="a backslash"),
        pytest.param("https:\\\\shop.example/welcome", id="backslashes for slashes"),
        pytest.param("https://shop.example\\.evil.example/welcome", id="a backslash in the host"),
        pytest.param("https://shop.example/welcome/../admin", id="a step up"),
        pytest.param("https://shop.example/welcome/./a", id="a step to nowhere"),
        pytest.param("https://shop.example/welcome/%2e%2E/admin", id="a step up, encoded"),
        pytest.param("https://shop.example/welcome/..%2fadmin", id="a step up, with its slash encoded"),
        pytest.param("https://shop.example/welcome/..%5cadmin", id="a step up, with a backslash encoded"),
        pytest.param("https://shop.example/welcome/..;x=1/admin", id="a step up, with parameters"),
        pytest.param("https://shop.example/welcome?result=forged", id="a result of its own"),
        pytest.param("https://shop.example/welcome?a=1&%72esult=forged", id="the same, encoded"),
        pytest.param("https://shop.example/welcome\r\nSet-Cookie: a=b", id="a header"),
        pytest.param("https://shop.example/welcome\n", id="a line break at the end"),
        pytest.param("https://shop.exa\tmple/welcome", id="a tab, which browsers drop"),
        pytest.param(" https://shop.example/welcome", id="a space before"),
        pytest.param("https://shop.example/welcome\x00", id="a NUL"),
        pytest.param("https://shop\uff0eexample/welcome", id="a full-width dot"),
        pytest.param("https:shop.example/welcome", id="no slashes"),
        pytest.param("https:///shop.example/welcome", id="three slashes"),
        pytest.param("//shop.example/welcome", id="no scheme"),
        pytest.param("/welcome", id="no host"),
        pytest.param("javascript:alert(1)//shop.example/welcome", id="a script"),
        pytest.param("data:text/html,https://shop.example/welcome", id="data"),
        pytest.param("", id="nothing"),
    ],
)
def test_any_other_link_is_not(url: str) -> None:
    assert not allowed(url, WELCOME)


def test_nothing_is_allowed_where_the_list_is_empty() -> None:
    assert not allowed(WELCOME[0], ())


@pytest.mark.parametrize(
    "url", ["http://shop.example/x", "http://10.0.0.1/x", "http://localhost.evil.example/x"]
)
def test_a_list_does_not_make_up_for_tls(url: str) -> None:
    assert not allowed(url, [url])


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("https://shop.example/ü", "must be a link in ASCII without spaces: percent-encode the rest"),
        ("https://anna@shop.example/", "must not name a user before the host"),
        ("shop.example", "must be a whole link: https://host/…"),
        ("ftp://shop.example/x", "must be a whole link: https://host/…"),
        ("http://shop.example/x", "must be https (http is for loopback hosts)"),
        ("https://shop.example/a/../b", "must not have the steps . or .. in its path"),
        ("https://shop.example/a?result=1", "must not have the parameter result: it is added"),
        ("https://shop.example/a?result", "must not have the parameter result: it is added"),
        ("https://shop.example/a?next=/../b#/../result=1", None),
    ],
)
def test_what_is_wrong_with_a_link_is_one_line(url: str, says: str | None) -> None:
    assert objection(url) == says


@pytest.mark.parametrize(
    ("url", "returned"),
    [
        ("https://shop.example", "https://shop.example?result=R-1_"),
        ("https://shop.example/welcome", "https://shop.example/welcome?result=R-1_"),
        ("https://shop.example/welcome?", "https://shop.example/welcome?result=R-1_"),
        ("https://shop.example/?a=1&a=2&b", "https://shop.example/?a=1&a=2&b&result=R-1_"),
        ("https://shop.example/?q=a%20b+c%26d", "https://shop.example/?q=a%20b+c%26d&result=R-1_"),
        ("https://shop.example/#/route?x=1", "https://shop.example/?result=R-1_#/route?x=1"),
        ("https://shop.example/?a=b?c#", "https://shop.example/?a=b?c&result=R-1_#"),
    ],
)
def test_the_result_joins_the_query_and_nothing_is_dropped(url: str, returned: str) -> None:
    assert with_result(url, "R-1_") == returned


def test_a_result_cannot_leave_its_parameter() -> None:
    assert with_result("https://shop.example/", "a&b=c#d") == "https://shop.example/?result=a%26b%3Dc%23d"


TEXT = st.text(st.characters(codec="ascii"), max_size=12)
LINKS = st.builds(
    "https://{}/{}".format, st.sampled_from(["shop.example", "evil.example", "shop.example:443"]), TEXT
)


@given(LINKS | TEXT | st.text())
def test_what_is_allowed_stays_with_its_host_after_the_result_is_added(url: str) -> None:
    if not allowed(url, ["https://shop.example"]):
        return
    place = urlsplit(with_result(url, "R-1"))
    assert (place.scheme, place.hostname, place.port or 443) == ("https", "shop.example", 443)
    assert place.username is None
    assert [value for name, value in parse_qsl(place.query) if name == "result"] == ["R-1"]
