import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { compareRuns } from '../../bench/compare.ts';
import { temporaryFolder } from '../../testing/holdall.ts';
import { UsageError } from '../../testing/options.ts';

describe('Comparing two runs of benchmarks', () => {
  test('reports a figure as worse when all rounds, relative to the peer, are below the earlier ones', async (t) => {
    // The machine was half as fast in the later run. Only changes relative to the peer count.
    const earlier = run({ ours: [100, 110, 105], peer: [200, 200, 200], p99: [5, 6, 5], isMet: true });
    const later = run({ ours: [40, 44, 42], peer: [100, 100, 100], p99: [4, 9, 5], isMet: false });
    const { status, stdout, stderr } = await compare(t, earlier, later);
    assert.match(stdout, /1 of 2 figures got worse .* 0 got better\./);
    assert.match(
      stdout,
      /\| get, holdall: speed, × peer +\| +0\.525 \| +0\.5 – 0\.55 \| +0\.42 \| +0\.4 – 0\.44 \| worse/,
    );
    assert.doesNotMatch(stdout, /p99/);
    assert.match(stdout, /0 of 1 verdicts are the same\.\n- Fetching: ≥ 0\.5 × peer was met, and is missed/);
    assert.match(stderr, /1 figure got worse\n1 verdict went from met to missed/);
    assert.equal(status, 1);
  });

  test('exits with 0 when rounds overlap or a figure got better', async (t) => {
    const earlier = run({ ours: [100, 110], peer: [200, 200], p99: [5, 6], isMet: true });
    const later = run({ ours: [105, 90], peer: [200, 200], p99: [3, 4], isMet: true });
    const { status, stdout } = await compare(t, earlier, later);
    assert.match(stdout, /0 of 2 figures got worse .* 1 got better\./);
    assert.match(stdout, /\| get, holdall: p99, ms \| .* better/);
    assert.match(stdout, /1 of 1 verdicts are the same\./);
    assert.equal(status, 0);
  });

  test('exits with 1 when a target was met and is now missed', async (t) => {
    const earlier = run({ ours: [100, 110], peer: [200, 200], p99: [5, 6], isMet: true });
    const later = run({ ours: [98, 111], peer: [200, 200], p99: [5, 6], isMet: false });
    const { status, stderr } = await compare(t, earlier, later);
    assert.match(stderr, /^1 verdict went from met to missed/);
    assert.equal(status, 1);
    assert.equal((await compare(t, later, earlier)).status, 0);
  });

  test('exits with 1 when the later run lacks a measurement, and with 0 when it adds one', async (t) => {
    const all = [...measurements(usual), ...measurements({ ...usual, id: 'list' })];
    // A failed measurement has no contenders and no figures.
    const failed = measurements({ ...usual, id: 'list', ours: [] }).map((measurement) => ({
      ...measurement,
      contenders: [],
    }));
    for (const lacking of [[], failed]) {
      const [whole, part] = [file(all), file([...measurements(usual), ...lacking])];
      const { status, stdout, stderr } = await compare(t, whole, part);
      assert.match(stdout, /In the earlier run only:\n- list, holdall\n- Work of list: ≥ 0\.5 × peer\n/);
      assert.match(stderr, /not in the later run: list, holdall; Work of list: ≥ 0\.5 × peer$/);
      assert.equal(status, 1);
      const added = await compare(t, part, whole);
      assert.match(added.stdout, /In the later run only:\n- list, holdall\n/);
      assert.equal(added.status, 0);
    }
  });

  test('exits with 1 when the later run lacks a single figure', async (t) => {
    const { status, stdout } = await compare(t, run(usual), run({ ...usual, p99: [] }));
    assert.match(stdout, /In the earlier run only:\n- get, holdall: p99, ms\n/);
    assert.equal(status, 1);
  });

  test('exits with 2 when a contender without samples leaves no figure to compare', async (t) => {
    const { status, stdout } = await compare(t, run(usual), run({ ...usual, ours: [] }));
    assert.doesNotMatch(stdout, /better \|/);
    assert.match(stdout, /In the earlier run only:\n- get, holdall\n/);
    assert.equal(status, 2);
  });

  test('exits with 2 when the runs have no figure in common', async (t) => {
    for (const other of [measurements({ ...usual, id: 'list' }), []]) {
      const { status, stderr } = await compare(t, run(usual), file(other));
      assert.match(stderr, /no figure is in both runs/);
      assert.equal(status, 2);
    }
  });

  test('ignores figures with a single round', async (t) => {
    const once = run({ ours: [10], peer: [200], p99: [50], isMet: false });
    const { status, stdout, stderr } = await compare(t, run(usual), once);
    assert.match(stdout, /0 of 0 figures got worse .* 2 figures had a single round, which decides nothing\./);
    assert.match(stderr, /no figure is in both runs and of more than one round in each/);
    assert.equal(status, 2);
    const both = file([...measurements(usual), ...measurements({ ...usual, id: 'list' })]);
    const mixed = file([
      ...measurements(usual),
      ...measurements({ ...usual, id: 'list', ours: [1], peer: [9], p99: [9] }),
    ]);
    assert.equal((await compare(t, both, mixed)).status, 0);
  });

  test('exits with 2 when a file is not a benchmark result', async (t) => {
    const good = run({ ours: [1], peer: [1], p99: [1], isMet: true });
    for (const bad of ['no JSON', '{}', JSON.stringify({ measurements: [{ id: 'get' }] })]) {
      const { status, stderr } = await compare(t, good, bad);
      assert.match(stderr, /later\.json is not what targets wrote/);
      assert.equal(status, 2);
    }
  });
});

describe('npm run bench -- compare', () => {
  test('prints the report, and exits with the code of its outcome', async (t) => {
    const { status, stdout, stderr } = await runCommand(t, run(usual), run({ ...usual, p99: [] }));
    assert.equal(status, 1, stderr);
    assert.match(stdout, /got worse/);
    assert.match(stderr, /^bench: compare failed: .*p99/);
  });
});

interface Rounds {
  /** Default: `get`. */
  readonly id?: string;
  readonly ours: readonly number[];
  readonly peer: readonly number[];
  /** Latency of Holdall, in milliseconds. */
  readonly p99: readonly number[];
  readonly isMet: boolean;
}

const usual: Rounds = { ours: [100, 110], peer: [200, 200], p99: [5, 6], isMet: true };

function run(rounds: Rounds): string {
  return file(measurements(rounds));
}

function file(all: readonly object[]): string {
  return JSON.stringify({ measurements: all });
}

function measurements({ id = 'get', ours, peer, p99, isMet }: Rounds): object[] {
  const samples = (values: readonly number[], latencies: readonly number[] = []) =>
    values.map((value, round) => ({
      value,
      cpuSeconds: null,
      peakMemory: null,
      latencyP99: latencies[round] ?? null,
      remark: '',
    }));
  const work = id === 'get' ? 'Fetching' : `Work of ${id}`;
  return [
    {
      id,
      unit: 'requests/s',
      reference: 'peer',
      contenders: [
        { name: 'holdall', samples: samples(ours, p99) },
        { name: 'peer', samples: samples(peer) },
      ],
      verdicts: [{ work, target: '≥ 0.5 × peer', unit: '× peer', figures: ours, isMet, roundsMet: 1 }],
    },
  ];
}

interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  /** The exit code: 1 if the later run is worse, 2 if there is nothing to compare. */
  readonly status: number | null;
}

type Context = Parameters<typeof temporaryFolder>[0];

/** Compares two runs in this process. */
async function compare(t: Context, earlier: string, later: string): Promise<Outcome> {
  const files = await writeRuns(t, earlier, later);
  const { report, failure } = await compareRuns(...files).catch((error: unknown) => {
    assert.ok(error instanceof UsageError, String(error));
    return { report: '', failure: error };
  });
  const status = failure instanceof UsageError ? 2 : Number(failure !== undefined);
  return { stdout: `${report}\n`, stderr: failure?.message ?? '', status };
}

/** Runs `npm run bench -- compare`. */
async function runCommand(t: Context, earlier: string, later: string): Promise<Outcome> {
  const files = await writeRuns(t, earlier, later);
  const script = fileURLToPath(new URL('../../bench/run.ts', import.meta.url));
  return spawnSync(process.execPath, [script, 'compare', ...files], { encoding: 'utf8' });
}

async function writeRuns(t: Context, earlier: string, later: string): Promise<[string, string]> {
  const folder = await temporaryFolder(t);
  const files: [string, string] = [join(folder, 'earlier.json'), join(folder, 'later.json')];
  await Promise.all([writeFile(files[0], earlier), writeFile(files[1], later)]);
  return files;
}
