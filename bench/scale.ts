import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Subject } from '../testing/options.ts';
import { readNames, readNumber, readSubject, subjectOptions, subjectUsage, UsageError } from '../testing/options.ts';
import { startCeph } from '../testing/servers/ceph.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { describeMachine } from './harness/machine.ts';
import { publish } from './harness/results.ts';
import type { Outcome } from './harness/scale-operations.ts';
import { familiesOf, measureSize, operationNames } from './harness/scale-operations.ts';
import { openScaleBucket, openScaleFolder } from './harness/scale-stores.ts';
import { formatScaleStore } from './harness/scale-table.ts';
import { compareStores } from './harness/synthetic-check.ts';
import { DEFAULT_LATENCY_MS, DEFAULT_RATES, startSyntheticStore } from './harness/synthetic-store.ts';
import { makeTemporaryFolder } from './harness/temporary-folder.ts';

/** How the cost of each operation grows with the folder. */
export const scale: Benchmark = {
  name: 'scale',
  question: 'What do listing, copying, moving and deleting cost in folders of 1,000 to 100,000 files, or of a million?',
  options: [
    '--largest N       the largest folder: 1000, 10000, 100000 or 1000000 (100000); a million takes half an hour',
    '--smallest N      the smallest one (1000)',
    `--only LIST       of ${operationNames.join(',')} (all)`,
    '--stores LIST     of bucket,disk (all); on disk, at most 100,000 files',
    `--latency MS      the duration of each request to the bucket (${DEFAULT_LATENCY_MS})`,
    '--check           compares the synthetic store with a Ceph, and measures nothing',
    ...subjectUsage,
  ],
  run: async (args, signal) => {
    const options = readOptions(args);
    if (options.check) return await checkStore(signal);
    await using folder = await makeTemporaryFolder(options.folder, 2 ** 30);
    const machine = await describeMachine(folder.path, options.service);
    const results: { store: string; outcomes: Outcome[] }[] = [];
    for (const part of options.parts) {
      const outcomes: Outcome[] = [];
      for (const count of part.sizes) {
        outcomes.push(
          ...(await measureStore(part, count, options, join(folder.path, `${part.store}-${count}`), signal)),
        );
      }
      results.push({ store: part.store, outcomes });
    }
    await publish({
      name: 'scale',
      machine,
      versions: {},
      report: [...results.map(({ store, outcomes }) => formatScaleStore(store, outcomes)), notes(options)].join('\n\n'),
      measurements: results,
    });
  },
};

const allSizes = [1000, 10_000, 100_000, 1_000_000];
const largestOnDisk = 100_000;

/** The measurements on one store. */
interface Part {
  readonly store: string;
  readonly sizes: readonly number[];
  readonly operations: readonly string[];
}

interface Options extends Subject {
  /** Empty if the run checks the store instead. */
  readonly parts: readonly Part[];
  readonly latency: number;
  readonly check: boolean;
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      largest: { type: 'string', default: '100000' },
      smallest: { type: 'string', default: '1000' },
      only: { type: 'string' },
      stores: { type: 'string' },
      latency: { type: 'string', default: String(DEFAULT_LATENCY_MS) },
      check: { type: 'boolean', default: false },
      ...subjectOptions,
    },
  });
  const [smallest, largest] = [readSize('smallest', values.smallest), readSize('largest', values.largest)];
  const sizes = allSizes.filter((size) => size >= smallest && size <= largest);
  const operations = readNames('only', values.only, operationNames);
  const stores = readNames('stores', values.stores, ['bucket', 'disk']);
  const parts = values.check ? [] : stores.map((store) => partOn(store, sizes, operations)).filter(isSomething);
  if (parts.length === 0 && !values.check) throw new UsageError('of these sizes and operations, nothing is measured');
  return {
    parts,
    latency: readNumber('latency', values.latency, 0),
    check: values.check,
    ...readSubject(values),
  };
}

function readSize(option: string, text: string): number {
  const size = allSizes.find((known) => String(known) === text);
  if (size === undefined) throw new UsageError(`--${option} ${text}: not one of ${allSizes.join(', ')}`);
  return size;
}

/** On a disk, a copy to an existing folder fails immediately, without a comparison. */
function partOn(store: string, sizes: readonly number[], operations: readonly string[]): Part {
  if (store === 'bucket') return { store, sizes, operations };
  return {
    store,
    sizes: sizes.filter((size) => size <= largestOnDisk),
    operations: operations.filter((name) => name !== 'compare'),
  };
}

function isSomething({ sizes, operations }: Part): boolean {
  return sizes.length > 0 && operations.length > 0;
}

async function measureStore(
  { store, operations }: Part,
  count: number,
  { latency, service }: Options,
  folder: string,
  signal: AbortSignal,
): Promise<Outcome[]> {
  const options = { families: familiesOf(count, operations), folder, service, latency };
  await using place = store === 'bucket' ? await openScaleBucket(options, signal) : await openScaleFolder(options);
  return await measureSize(place, count, operations, signal);
}

/** Checks that the synthetic store responds like a real one. */
async function checkStore(signal: AbortSignal): Promise<void> {
  const ceph = await startCeph({ signal });
  try {
    await using synthetic = await startSyntheticStore({ families: [], latency: 0 }, signal);
    const differences = await compareStores(synthetic, { account: ceph, bucket: 'check' });
    if (differences.length > 0) throw new Error(`the synthetic store differs from Ceph:\n${differences.join('\n')}`);
  } finally {
    await ceph.stop();
  }
  process.stdout.write('The synthetic store responds like Ceph.\n');
}

/** The limits of the figures, for readers. */
function notes({ latency }: Options): string {
  return [
    `- The bucket: a synthetic store in a process of its own, ${latency} ms for each request, and for each first folder` +
      ` ${DEFAULT_RATES.writes.toLocaleString('en-US')} writes and ${DEFAULT_RATES.reads.toLocaleString('en-US')} reads a second, each removed` +
      ' object one write; 503 beyond that. `--check` compares it with a real Ceph.',
    '- Each operation once, by a newly started worker; page 1 is the median of five. Listings are of a folder that contains' +
      ' all files itself; all other operations are on a folder with subfolders of 1,000 files.',
    '- Compare: a copy to an existing copy, which returns 409 after both folders were read completely; on a' +
      ' disk it is rejected immediately, and not measured.',
    '- Calls are the requests to the store, including retries. CPU is that of the service alone.',
    '- Memory: the peak of the process tree, shared pages once, in MB of 1,000,000 bytes. The effect of each operation' +
      ' is checked, object by object.',
  ].join('\n');
}
