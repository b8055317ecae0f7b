"""Requests to AWS: where credentials and region come from, and a signature that another server checks."""

import asyncio
import os
import re
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import httpx
import pytest
from botocore.credentials import Credentials, ReadOnlyCredentials
from moto.server import ThreadedMotoServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from activities.providers import aws
from activities.providers.answers import Answer
from activities.providers.aws import Service
from activities.providers.errors import Misconfigured
from activities.settings import Settings
from sandbox.serving import serving

FORM = "application/x-www-form-urlencoded; charset=utf-8"
REGION = {"STANDBY_AWS_REGION": "eu-central-1"}


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """An environment in which no AWS tool finds anything."""
    for name in [name for name in os.environ if name.startswith("AWS_") and name != "AWS_CA_BUNDLE"]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    return monkeypatch


def service(client: httpx.AsyncClient, environ: dict[str, str] = REGION, url: str | None = None) -> Service:
    return Service.of(Settings.read(environ), client, "email", "ses", url)


async def signed_by(made: Service) -> str:
    """Return the id of the key that a request is signed by."""
    request = await made.request("GET", "/")
    found = re.search(r"Credential=([^/]+)/", request.headers["authorization"])
    assert found is not None
    return found[1]


def profile(name: str, key_id: str) -> str:
    return f"[{name}]\naws_access_key_id = {key_id}\naws_secret_access_key = s3cr3t\n"


async def test_credentials_come_from_the_environment(
    bare: pytest.MonkeyPatch, client: httpx.AsyncClient
) -> None:
    bare.setenv("AWS_ACCESS_KEY_ID", "AKIAENVIRONMENT")
    bare.setenv("AWS_SECRET_ACCESS_KEY", "s3cr3t")

    assert await signed_by(service(client)) == "AKIAENVIRONMENT"


async def test_a_session_token_is_sent_and_signed(
    bare: pytest.MonkeyPatch, client: httpx.AsyncClient
) -> None:
    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"):
        bare.setenv(f"AWS_{name}", name)

    request = await service(client).request("POST", "/", b"x", {"Content-Type": FORM})

    assert request.headers["x-amz-security-token"] == "SESSION_TOKEN"
    assert (
        "SignedHeaders=content-type;host;x-amz-date;x-amz-security-token" in request.headers["authorization"]
    )


async def test_credentials_come_from_the_chosen_profile_of_the_shared_file(
    bare: pytest.MonkeyPatch, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    (tmp_path / "credentials").write_text(profile("default", "AKIADEFAULT") + profile("ops", "AKIAOPS"))
    assert await signed_by(service(client)) == "AKIADEFAULT"

    bare.setenv("AWS_PROFILE", "ops")
    assert await signed_by(service(client)) == "AKIAOPS"


@pytest.mark.usefixtures("bare")
async def test_credentials_that_are_rotated_in_their_file_hold_from_the_next_request_on(
    client: httpx.AsyncClient, tmp_path: Path
) -> None:
    file = tmp_path / "credentials"
    file.write_text(profile("default", "AKIAOLD"))
    made = service(client)

    mounted = tmp_path / "mounted"
    mounted.write_text(profile("default", "AKIANEW"))
    mounted.replace(file)

    assert await signed_by(made) == "AKIANEW"


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("written", ["", "[default\n", "[default]\naws_access_key_id = AKIAHALF\n", None])
async def test_credentials_stay_in_force_while_their_file_holds_none(
    client: httpx.AsyncClient, tmp_path: Path, written: str | None
) -> None:
    file = tmp_path / "credentials"
    file.write_text(profile("default", "AKIAOLD"))
    made = service(client)
    await made.ready()

    if written is None:
        file.unlink()
    else:
        file.write_text(written)
    assert await signed_by(made) == "AKIAOLD"

    file.write_text(profile("default", "AKIANEWER"))
    assert await signed_by(made) == "AKIANEWER"


@pytest.mark.parametrize(
    ("environ", "says"),
    [
        ({}, "AWS credentials are not set: set AWS_ACCESS_KEY_ID"),
        ({"AWS_ACCESS_KEY_ID": "AKIAHALF"}, "PartialCredentialsError"),
        ({"AWS_PROFILE": "nobody"}, "ProfileNotFound"),
    ],
    ids=["none", "half", "no such profile"],
)
async def test_missing_credentials_are_a_setting(
    bare: pytest.MonkeyPatch, client: httpx.AsyncClient, environ: dict[str, str], says: str
) -> None:
    for name, value in environ.items():
        bare.setenv(name, value)

    with pytest.raises(Misconfigured, match=says):
        await service(client).ready()


class Instance:
    """The metadata service of an instance that has a role."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def answer(self, request: Request) -> Response:
        self.asked.append(request.url.path)
        if request.method == "PUT":
            return PlainTextResponse("a-token")
        if request.url.path.endswith("/security-credentials/"):
            return PlainTextResponse("a-role")
        return JSONResponse(
            {
                "Code": "Success",
                "AccessKeyId": "ASIAINSTANCE",
                "SecretAccessKey": "s3cr3t",
                "Token": "t",
                "Expiration": "2099-01-01T00:00:00Z",
            }
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[str]:
        app = Starlette(routes=[Route("/{path:path}", self.answer, methods=["GET", "PUT"])])
        app.state.stopping = asyncio.Event()
        async with serving(app) as server:
            yield server.url


@pytest.mark.parametrize("asks", ["1", "0"])
async def test_an_instance_is_asked_for_its_role_only_on_demand(
    bare: pytest.MonkeyPatch, client: httpx.AsyncClient, asks: str
) -> None:
    instance = Instance()
    environ = {**REGION, "STANDBY_AWS_INSTANCE_ROLE": asks}
    async with instance.running() as url:
        bare.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)
        made = service(client, environ)
        if asks == "1":
            assert await signed_by(made) == "ASIAINSTANCE"
        else:
            with pytest.raises(Misconfigured):
                await made.ready()
    assert bool(instance.asked) is (asks == "1")


async def test_a_source_that_never_answers_holds_up_neither_the_loop_nor_the_end(
    bare: pytest.MonkeyPatch, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    config = tmp_path / "config"
    config.write_text("[default]\ncredential_process = sleep 20\n")
    bare.setenv("AWS_CONFIG_FILE", str(config))
    made = replace(service(client), budget=timedelta(seconds=0.5))
    turns = 0

    async def turn() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.01)

    turning = asyncio.ensure_future(turn())
    with pytest.raises(Misconfigured, match="cannot be had"):
        await made.ready()
    turning.cancel()

    assert turns > 1
    assert all(each.daemon for each in threading.enumerate() if each.name == "aws-credentials")


@pytest.mark.parametrize(
    ("environ", "region"),
    [
        ({"STANDBY_AWS_REGION": "eu-west-1", "AWS_REGION": "us-east-1"}, "eu-west-1"),
        ({"AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-west-2"}, "us-east-1"),
        ({"AWS_DEFAULT_REGION": "us-west-2"}, "us-west-2"),
        ({}, "sa-east-1"),
        ({"AWS_REGION": "us-gov-west-1"}, "us-gov-west-1"),
    ],
    ids=["ours first", "AWS_REGION", "AWS_DEFAULT_REGION", "config file", "a long name"],
)
async def test_the_region_is_the_nearest_that_is_set(
    bare: pytest.MonkeyPatch,
    client: httpx.AsyncClient,
    tmp_path: Path,
    environ: dict[str, str],
    region: str,
) -> None:
    (tmp_path / "credentials").write_text(profile("default", "AKIA"))
    (tmp_path / "config").write_text("[default]\nregion = sa-east-1\n")
    for name, value in environ.items():
        bare.setenv(name, value)

    made = service(client, environ)

    assert (made.region, made.url) == (region, f"https://email.{region}.amazonaws.com")
    assert f"/{region}/ses/aws4_request" in (await made.request("GET", "/")).headers["authorization"]


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("environ", [{}, {"STANDBY_AWS_REGION": "Frankfurt"}], ids=["none", "no region"])
async def test_a_region_that_is_none_is_a_setting(client: httpx.AsyncClient, environ: dict[str, str]) -> None:
    with pytest.raises(Misconfigured, match="AWS_REGION"):
        service(client, environ)


@pytest.mark.parametrize(
    ("region", "url", "found"),
    [
        ("cn-north-1", None, "https://email.cn-north-1.amazonaws.com.cn"),
        ("eu-central-1", "https://email.example.test", "https://email.example.test"),
    ],
)
async def test_the_address_follows_from_the_region_unless_it_is_set(
    bare: pytest.MonkeyPatch, client: httpx.AsyncClient, region: str, url: str | None, found: str
) -> None:
    bare.setenv("AWS_ACCESS_KEY_ID", "AKIA")
    bare.setenv("AWS_SECRET_ACCESS_KEY", "s3cr3t")

    assert service(client, {"STANDBY_AWS_REGION": region}, url).url == found


@pytest.mark.parametrize(
    "path", ["/v2/email/identities/notices%40example.com", "/x/?NextToken=a%2Fb%3D%3D&PageSize=2", "/a%2Fb/"]
)
async def test_what_is_sent_is_encoded_as_it_was_signed(client: httpx.AsyncClient, path: str) -> None:
    made = Service(client, "https://x.test", "eu-central-1", "ses", Credentials("AKIA", "s3cr3t"))

    assert (await made.request("GET", path)).url.raw_path == path.encode()


class Failing:
    """Credentials that cannot be renewed."""

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        raise OSError("/run/secrets/anna cannot be read")


class Waiting:
    """Credentials whose renewal brings no answer."""

    def __init__(self) -> None:
        self.released = threading.Event()

    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        self.released.wait(60)
        return ReadOnlyCredentials("AKIALATE", "s3cr3t", None, None)


async def test_credentials_that_cannot_be_renewed_are_a_setting(client: httpx.AsyncClient) -> None:
    made = Service(client, "https://x.test", "eu-central-1", "ses", Failing())

    with pytest.raises(Misconfigured, match="OSError") as caught:
        await made.request("GET", "/")
    assert "anna" not in f"{caught.value!r}"


async def test_credentials_are_not_waited_for_beyond_the_budget(client: httpx.AsyncClient) -> None:
    waiting = Waiting()
    made = Service(client, "https://x.test", "eu-central-1", "ses", waiting, timedelta(seconds=0.05))
    try:
        with pytest.raises(Misconfigured, match="TimeoutError"):
            await made.request("GET", "/")
    finally:
        waiting.released.set()


async def test_nothing_secret_is_shown(client: httpx.AsyncClient) -> None:
    made = Service(client, "https://x.test", "eu-central-1", "ses", Credentials("AKIASHOWN", "s3cr3t"))

    assert "s3cr3t" not in repr(made)
    assert "AKIASHOWN" not in repr(made)


@pytest.mark.parametrize(
    ("headers", "body", "code"),
    [
        ({"x-amzn-errortype": "MessageRejected"}, b"{}", "MessageRejected"),
        ({"x-amzn-errortype": "NotFoundException:http://aws.example/"}, b"", "NotFoundException"),
        ({}, b'{"__type": "com.amazonaws.ses#MessageRejected"}', "MessageRejected"),
        ({}, b'{"code": "Throttling"}', "Throttling"),
        ({"x-amzn-errortype": "First"}, b'{"__type": "Second"}', "First"),
        ({}, b"<html>", None),
        ({}, b'{"__type": 7.5}', None),
        ({"x-amzn-errortype": ":"}, b"", ""),
    ],
)
def test_an_error_is_named_in_a_header_or_in_the_body(
    headers: dict[str, str], body: bytes, code: str | None
) -> None:
    assert aws.error_code(Answer(400, headers, body)) == code


@pytest.fixture
async def moto(client: httpx.AsyncClient) -> AsyncIterator[str]:
    """AWS, as moto imitates it; its state is the process's, so it is cleared."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    url = f"http://{host}:{port}"
    await client.post(f"{url}/moto-api/reset")
    yield url
    await client.post(f"{url}/moto-api/reset")
    server.stop()


async def said(made: Service, path: str, content: bytes, kind: str = FORM) -> httpx.Response:
    """Ask as an adapter would."""
    return await made.client.send(await made.request("POST", path, content, {"Content-Type": kind}))


@asynccontextmanager
async def strict(client: httpx.AsyncClient, url: str) -> AsyncIterator[Service]:
    """Let moto check the signature of everything, of a user who may do everything."""
    iam = Service(client, url, "us-east-1", "iam", Credentials("AKIAROOT", "any"))
    allowed = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}'
    for form in (
        {"Action": "CreateUser"},
        {"Action": "PutUserPolicy", "PolicyName": "all", "PolicyDocument": allowed},
        {"Action": "CreateAccessKey"},
    ):
        last = await said(
            iam, "/", urlencode({"Version": "2010-05-08", "UserName": "standby", **form}).encode()
        )
        assert last.is_success
    found = re.search(
        "<AccessKeyId>(.+)</AccessKeyId>.*<SecretAccessKey>(.+)</SecretAccessKey>", last.text, re.DOTALL
    )
    assert found is not None
    await client.post(f"{url}/moto-api/reset-auth", content=b"0")
    try:
        yield Service(client, url, "us-east-1", "iam", Credentials(found[1], found[2]))
    finally:
        await client.post(f"{url}/moto-api/reset-auth", content=b"inf")


GET_USER = b"Action=GetUser&Version=2010-05-08&UserName=standby"
ASKED = {
    "a form": ("iam", "/", GET_USER, FORM),
    "JSON": ("ses", "/v2/email/identities", b'{"EmailIdentity": "example.com"}', "application/json"),
}
"""Only what is posted: of a GET moto finds no signature right, boto3's neither."""


@pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED.keys())
async def test_another_implementation_finds_the_signature_right_and_another_secret_wrong(
    client: httpx.AsyncClient, moto: str, asked: tuple[str, str, bytes, str]
) -> None:
    signs_as, path, content, kind = asked
    async with strict(client, moto) as user:
        made = replace(user, signs_as=signs_as)
        right = await said(made, path, content, kind)
        key_id = user.credentials.get_frozen_credentials().access_key
        wrong = await said(replace(made, credentials=Credentials(key_id, "other")), path, content, kind)

    assert right.status_code == 200
    assert wrong.status_code == 403
    assert "SignatureDoesNotMatch" in wrong.text
