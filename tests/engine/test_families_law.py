"""The law, warm equals cold to the bit, for every family of models: windows, norms, biases and soft caps.

The scenarios are few; ``test_law`` draws many on a Llama. Here each family has layers of both kinds, with a
window and without.
"""

import pytest

from promptcache_engine import EngineConfig
from promptcache_engine.models import LoadedModel
from promptcache_engine.models.testing import FAMILY_NAMES, tiny_model
from tests.engine.scenario import Request, cold, run
from tests.engine.test_law import PREFIXES, assert_same_bits

WINDOWS = (16, None, 48)
MAX_LENGTH = 320


@pytest.fixture(scope="module", params=FAMILY_NAMES)
def exact(request: pytest.FixtureRequest) -> LoadedModel:
    return tiny_model(3, family=request.param, num_layers=3, layer_windows=WINDOWS, deterministic=True)


@pytest.mark.parametrize(("page_size", "budget"), [(1, 33), (16, 64), (16, 7), (64, 512)])
def test_every_logit_has_the_bits_of_a_cold_run(exact: LoadedModel, page_size: int, budget: int) -> None:
    made = [
        Request([*PREFIXES[0][:150], 1, 2, 3], 4, at_step=0),
        Request([*PREFIXES[0][:150], 9], 5, at_step=60),
        Request(PREFIXES[1][:120], 3, at_step=62),
        Request([*PREFIXES[0][:150], 1, 2, 3, 4, 5], 6, at_step=120),
        Request([*PREFIXES[1][:120], 7], 3, at_step=121),
    ]
    config = EngineConfig(
        page_size=page_size,
        kv_cache_tokens=2 * MAX_LENGTH,
        max_batch_tokens=budget,
        max_running=5,
    )
    cache = run(exact, made, config=config, max_length=MAX_LENGTH)
    assert cache.stats.hits > 100
    for request in made:
        assert_same_bits(request, cold(exact, request, max_length=MAX_LENGTH))
