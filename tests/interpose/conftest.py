import driver
import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "more: runs on another number of ranks than the one that `make test` takes")


@pytest.fixture
def run(tmp_path):
    """run(COMMAND, status=0, VARIABLES…): runs it in a new folder; what it writes."""
    return lambda command, status=0, **variables: driver.output_of(command, tmp_path, status, **variables)
