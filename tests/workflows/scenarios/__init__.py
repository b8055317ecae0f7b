"""Every notice that is played as a test and can be recorded, by the fact that it shows."""

from tests.workflows.scenario import Scenario
from tests.workflows.scenarios.dispatches import DISPATCHES
from tests.workflows.scenarios.evidence import EVIDENCE
from tests.workflows.scenarios.pauses import PAUSES
from tests.workflows.scenarios.routes import ROUTES
from tests.workflows.scenarios.signals import SIGNALS

SCENARIOS: dict[str, Scenario] = EVIDENCE | ROUTES | DISPATCHES | SIGNALS | PAUSES
