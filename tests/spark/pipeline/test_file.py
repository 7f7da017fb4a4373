"""Pipeline files: what stands in them, and each mistake with its file, table and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from semistream.errors import PipelineError
from semistream.spark.pipeline.file import read_pipeline
from tests.spark.pipeline.world import PIPELINE

SINK = 'format = "parquet"\npath = "warehouse/sales"'


def sql_sink(url: str, more: str = "") -> str:
    return f'format = "sql"\nurl = "{url}"\ntable = "sales"\n{more}'


MISTAKES = {
    "no toml": ("[pipeline]", "[pipeline", "is no TOML"),
    "unknown table": ("[dedupe]", "[dedup]", "the file, dedup: isn't known here", "did you mean 'dedupe'?"),
    "missing table": (f"[sink]\n{SINK}\n", "", "the table [sink] is missing"),
    "array written as a table": ("[[lookup]]", "[lookup]", "is no TOML"),
    "table written as an array": ("[dedupe]", "[[dedupe]]", "the file, dedupe: is written [dedupe]"),
    "unknown key": ('memory = "8MiB"', 'memmory = "8MiB"', "[pipeline], memmory: ", "did you mean 'memory'?"),
    "missing key": (
        'checkpoint = "state/checkpoint"',
        'chekpoint = "x"',
        "[pipeline], checkpoint: is missing",
        "did you mean 'chekpoint'?",
    ),
    "wrong type": ('name = "sales"', "name = 5", "[pipeline], name: 5 is no text"),
    "empty text": ('name = "sales"', 'name = ""', "[pipeline], name: an empty text is no text"),
    "no size": ('memory = "8MiB"', 'memory = "much"', "[pipeline], memory: ", "'64MiB'"),
    "size of a wrong type": ('memory = "8MiB"', "memory = true", "[pipeline], memory: true is no size"),
    "no trigger": ('"available_now"', '"often"', "[pipeline], trigger: 'often' isn't known", "'2 seconds'"),
    "unknown source key": (
        'format = "csv"',
        'formt = "csv"',
        '[[source]] 2 "shop", format: is missing',
        "did you mean 'formt'?",
    ),
    "name taken": ('name = "shop"', 'name = "web"', '[[source]] 2 "web", name: is taken'),
    "option of a wrong type": (
        "{ maxFilesPerTrigger = 1 }",
        "{ maxFilesPerTrigger = [1] }",
        '[[source]] 1 "web" options, maxFilesPerTrigger: a list is no text',
    ),
    "options that are none": (
        "options = { maxFilesPerTrigger = 1 }",
        "options = 1",
        "options: 1 is no table",
    ),
    "expression of a wrong type": (
        'quantity = "quantity"',
        "quantity = 1",
        '[[source]] 1 "web" columns, quantity: 1 is no text',
    ),
    "names of a wrong type": (
        'columns = ["sale_id"]',
        "columns = [1]",
        "[dedupe], columns: a list is no name",
    ),
    "a name twice": (
        'columns = ["sale_id"]',
        'columns = ["sale_id", "sale_id"]',
        "[dedupe], columns: names 'sale_id' twice",
    ),
    "no name at all": ('columns = ["sale_id"]', "columns = []", "[dedupe], columns: is missing"),
    "watermark of a wrong type": (
        'watermark = { column = "sold_at", delay = "1 hour" }',
        'watermark = "sold_at"',
        "[dedupe], watermark: a text is no table",
    ),
    "no watermark": (
        'watermark = { column = "sold_at", delay = "1 hour" }',
        "",
        "[dedupe], watermark: is missing",
    ),
    "unknown watermark key": (
        'delay = "1 hour" }',
        'delay = "1 hour", late = 1 }',
        "[dedupe] watermark, late: isn't known",
    ),
    "unknown how": (
        'unmatched = "drop"',
        'how = "outer"',
        "[[lookup]] 2 \"shop products\", how: 'outer' isn't known: give 'left', 'inner'",
    ),
    "unknown unmatched": ('unmatched = "drop"', 'unmatched = "dropp"', "did you mean 'drop'?"),
    "contradiction": (
        'unmatched = "drop"',
        'how = "inner"\nunmatched = "keep"',
        "[[lookup]] 2 \"shop products\", unmatched: 'keep' contradicts",
    ),
    "semi join with quarantine": ('unmatched = "drop"', 'how = "left_semi"', "how: 'left_semi' would drop"),
    "unmatched of a semi join": (
        'unmatched = "drop"',
        'how = "left_anti"\nunmatched = "drop"',
        "unmatched: says nothing beside how = 'left_anti'",
    ),
    "no such source": ('source = "shop"', 'source = "shops"', "source: 'shops' is no source: there is 'web'"),
    "no such algorithm": (
        'unmatched = "drop"',
        'algorithm = "fastest"',
        "algorithm: 'fastest' isn't known",
    ),
    "unknown check": (
        'unmatched = "drop"',
        'validate = "1:1"',
        "[[lookup]] 2 \"shop products\", validate: '1:1' isn't known: give 'm:1'",
    ),
    "quarantine missing": ("[quarantine]", "[columns.quarantine]", "unmatched: 'quarantine' needs the table"),
    "unknown sink": (SINK, 'format = "parket"\npath = "x"', "[sink], format: ", "did you mean 'parquet'?"),
    "key of another sink": (SINK, f'{SINK}\nkey = "sale_id"', "[sink], key: is for a sink of format 'sql'"),
    "path of a database": (
        SINK,
        sql_sink("sqlite:///w.db", 'path = "w"'),
        "[sink], path: is for a sink of format 'parquet', not 'sql'",
    ),
    "database without a table": (
        SINK,
        'format = "sql"\nurl = "sqlite:///w.db"',
        "[sink], table: is missing: give a text",
    ),
    "latest without key": (
        SINK,
        sql_sink("sqlite:///w.db", 'latest = "sold_at"'),
        "[sink], latest: says which row of a key wins",
    ),
    "password in a url": (
        SINK,
        sql_sink("postgresql://me:open%20sesame@localhost/db"),
        "[sink], url: holds a literal password",
        "${NAME}",
    ),
    "password as a parameter": (
        SINK,
        sql_sink("postgresql://me@localhost/db?password=sesame"),
        "[sink], url: holds a literal password",
    ),
    "password in an option": (
        "{ maxFilesPerTrigger = 1 }",
        '{ "kafka.ssl.keystore.password" = "sesame" }',
        "kafka.ssl.keystore.password: holds a literal value",
    ),
    "password inside an option": (
        "{ maxFilesPerTrigger = 1 }",
        '{ jaas = \'required username="me" password="sesame";\' }',
        "options, jaas: holds a literal",
    ),
    "password in a master": (
        'master = "masters/shop"',
        'master = "postgresql://me:sesame@localhost/db"',
        "master: holds a literal password",
    ),
    "environment in an expression": (
        'total = "cast(quantity * price as double)"',
        "total = \"'${SECRET}'\"",
        "[columns], total: ${SECRET} can't stand here",
    ),
    "environment in a path": ('path = "web"', 'path = "${HOME}/web"', "path: ${HOME} can't stand here"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(tmp_path: Path, mistake: str) -> None:
    old, new, *said = MISTAKES[mistake]
    assert old in PIPELINE
    file = tmp_path / "pipeline.toml"
    file.write_text(PIPELINE.replace(old, new, 1))
    with pytest.raises(PipelineError) as raised:
        read_pipeline(file)
    message = str(raised.value)
    for part in (str(file), *said):
        assert part in message
    assert "sesame" not in message
    assert list(tmp_path.iterdir()) == [file]


WHOLE_FILES = {
    "no table": (b"", "the table [pipeline] is missing"),
    "no source": (
        b'[pipeline]\ncheckpoint = "c"\n[sink]\nformat = "parquet"\npath = "w"',
        "the table [[source]] is missing: give at least one",
    ),
    "sources that are none": (b'source = [1]\n[pipeline]\ncheckpoint = "c"', "[[source]] 1: is no table"),
    "no text": (b"\xff\xfe[pipeline]", "is no TOML: "),
}


@pytest.mark.parametrize("mistake", WHOLE_FILES)
def test_a_mistake_of_the_whole_file(tmp_path: Path, mistake: str) -> None:
    content, said = WHOLE_FILES[mistake]
    file = tmp_path / "pipeline.toml"
    file.write_bytes(content)
    with pytest.raises(PipelineError) as raised:
        read_pipeline(file)
    assert f"{file}" in str(raised.value)
    assert said in str(raised.value)


def test_a_semi_join_concerns_all_sources(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    text = PIPELINE.replace('[quarantine]\npath = "state/quarantine"\n', "")
    text = text.replace('unmatched = "quarantine"\n', "")
    file.write_text(text.replace('unmatched = "drop"', 'how = "left_anti"'))
    with pytest.raises(PipelineError, match=r"\[\[lookup\]\] 2 .*, how: 'left_anti' concerns all rows"):
        read_pipeline(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match=r"nothing\.toml can't be read"):
        read_pipeline(tmp_path / "nothing.toml")


def test_a_file_as_values(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    file.write_text(PIPELINE)
    pipeline = read_pipeline(file)
    assert (pipeline.name, pipeline.trigger, pipeline.memory) == ("sales", "available_now", "8MiB")
    assert pipeline.checkpoint == str(tmp_path / "state" / "checkpoint")
    assert [source.path for source in pipeline.sources] == [str(tmp_path / "web"), str(tmp_path / "shop")]
    assert [(one.how, one.unmatched) for one in pipeline.lookups] == [
        ("left", "quarantine"),
        ("left", "drop"),
        ("left", "keep"),
    ]
    assert pipeline.lookups[0].pairs == {"product": "number"}
    assert pipeline.lookups[2].pairs == {"supplier_id": "supplier_id"}


def test_what_is_left_out_has_a_default(tmp_path: Path) -> None:
    file = tmp_path / "nightly.toml"
    file.write_text(
        '[pipeline]\ncheckpoint = "s3a://bucket/checkpoint"\n'
        '[[source]]\nname = "a"\nformat = "parquet"\npath = "/in"\n'
        '[sink]\nformat = "sql"\nurl = "sqlite:///w.db"\ntable = "t"\n'
    )
    pipeline = read_pipeline(file)
    assert (pipeline.name, pipeline.checkpoint) == ("nightly", "s3a://bucket/checkpoint")
    assert (pipeline.trigger, pipeline.memory, pipeline.lookups) == (None, "64MiB", ())
    assert (pipeline.dedupe, pipeline.new_rows, pipeline.quarantine) == (None, None, None)
    assert pipeline.sources[0].path == "/in"
    assert pipeline.sink.url == f"sqlite:///{tmp_path}/w.db"


def test_secrets_and_names_that_only_look_like_them_pass(tmp_path: Path) -> None:
    file = tmp_path / "pipeline.toml"
    text = PIPELINE.replace(
        SINK, sql_sink("postgresql://me:${WAREHOUSE_PASSWORD}@localhost/db", 'key = "sale_id"')
    )
    text = text.replace("{ maxFilesPerTrigger = 1 }", '{ jaas = "required password=\\"${KAFKA}\\";" }', 1)
    file.write_text(text.replace('quantity = "quantity"', 'quantity = "quantity"\ntoken = "upper(token)"'))
    pipeline = read_pipeline(file)
    assert pipeline.sink.url == "postgresql://me:${WAREHOUSE_PASSWORD}@localhost/db"
    assert pipeline.sources[0].options == {"jaas": 'required password="${KAFKA}";'}
    assert pipeline.sources[0].columns["token"] == "upper(token)"
