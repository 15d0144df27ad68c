import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startCeph } from '../tests/servers/ceph.ts';
import type { Benchmark } from './harness/benchmark.ts';
import { describeMachine } from './harness/machine.ts';
import type { Subject } from './harness/options.ts';
import { readNames, readNumber, readSubject, subjectOptions, subjectUsage } from './harness/options.ts';
import { publish } from './harness/results.ts';
import type { Outcome } from './harness/scale-operations.ts';
import { familiesOf, measureSize, operationNames } from './harness/scale-operations.ts';
import { bucketPlace, diskPlace } from './harness/scale-places.ts';
import { formatPlace } from './harness/scale-table.ts';
import { compareStores } from './harness/synthetic-check.ts';
import { startSyntheticStore, usualLatency, usualRates } from './harness/synthetic-store.ts';
import { makeTemporaryFolder } from './harness/temporary-folder.ts';

/** How the cost of each operation grows with the folder. */
export const scale: Benchmark = {
  name: 'scale',
  question: 'What do listing, copying, moving and deleting cost in folders of 1,000 to 1,000,000 files?',
  options: [
    '--largest N       the largest folder: 1000, 10000, 100000 or 1000000 (100000); a million takes half an hour',
    '--smallest N      the smallest one (1000)',
    `--cases LIST      of ${operationNames.join(',')} (all)`,
    '--stores LIST     of bucket,disk (all); on disk, 100,000 files at the most',
    `--latency MS      what each request to the bucket takes (${usualLatency})`,
    '--check           holds the synthetic store to what a Ceph answers, and measures nothing',
    ...subjectUsage,
  ],
  run: async (args, signal) => {
    const options = readOptions(args);
    if (options.check) return await checkStore(signal);
    await using folder = await makeTemporaryFolder(options.folder, 2 ** 30);
    const machine = await describeMachine(folder.path, options.service);
    const results: { store: string; outcomes: Outcome[] }[] = [];
    for (const store of options.stores) {
      const outcomes: Outcome[] = [];
      for (const count of options.sizes.filter((size) => store === 'bucket' || size <= largestOnDisk)) {
        outcomes.push(...(await measureStore(store, count, options, join(folder.path, `${store}-${count}`), signal)));
      }
      results.push({ store, outcomes });
    }
    await publish({
      name: 'scale',
      machine,
      versions: {},
      report: [...results.map(({ store, outcomes }) => formatPlace(store, outcomes)), notes(options)].join('\n\n'),
      measurements: results,
    });
  },
};

const allSizes = [1000, 10_000, 100_000, 1_000_000];
const largestOnDisk = 100_000;

interface Options extends Subject {
  readonly sizes: readonly number[];
  readonly cases: readonly string[];
  readonly stores: readonly string[];
  readonly latency: number;
  readonly check: boolean;
}

function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      largest: { type: 'string', default: '100000' },
      smallest: { type: 'string', default: '1000' },
      cases: { type: 'string' },
      stores: { type: 'string' },
      latency: { type: 'string', default: String(usualLatency) },
      check: { type: 'boolean', default: false },
      ...subjectOptions,
    },
  });
  const smallest = readNumber('smallest', values.smallest, 1);
  const largest = readNumber('largest', values.largest, smallest);
  return {
    sizes: allSizes.filter((size) => size >= smallest && size <= largest),
    cases: readNames('cases', values.cases, operationNames),
    stores: readNames('stores', values.stores, ['bucket', 'disk']),
    latency: readNumber('latency', values.latency, 0),
    check: values.check,
    ...readSubject(values),
  };
}

async function measureStore(
  store: string,
  count: number,
  { cases, latency, service }: Options,
  folder: string,
  signal: AbortSignal,
): Promise<Outcome[]> {
  // On a disk, a copy that is there already is told by its folder alone.
  const wanted = cases.filter((name) => store === 'bucket' || name !== 'compare');
  const options = { families: familiesOf(count, wanted), folder, service, latency };
  await using place = store === 'bucket' ? await bucketPlace(options, signal) : await diskPlace(options);
  return await measureSize(place, count, wanted, signal);
}

/** Whether the store that figures come from answers as a real one. */
async function checkStore(signal: AbortSignal): Promise<void> {
  const ceph = await startCeph(signal);
  try {
    await using synthetic = await startSyntheticStore({ families: [], latency: 0 }, signal);
    const differences = await compareStores(synthetic, { account: ceph, bucket: 'check' });
    if (differences.length > 0) throw new Error(`the synthetic store differs from Ceph:\n${differences.join('\n')}`);
  } finally {
    await ceph.stop();
  }
  process.stdout.write('The synthetic store answers as Ceph does.\n');
}

/** What a reader must know so that the figures do not mislead. */
function notes({ latency }: Options): string {
  return [
    `- The bucket: a synthetic store in a process of its own, ${latency} ms for each request, and for each first folder` +
      ` ${usualRates.writes.toLocaleString('en-US')} writes and ${usualRates.reads.toLocaleString('en-US')} reads a second, each removed` +
      ' object one write; 503 beyond that. It is held to the answers of a real Ceph (`--check`).',
    '- Each operation once, by one worker freshly started; page 1 is the median of five. Listed is a folder that holds' +
      ' all files itself; copied, compared, deleted and moved is one with folders of 1,000.',
    '- Compare: a copy to where its copy is already, which is answered 409 when both folders were read to their end.',
    '- Calls are what came in at the store, what was tried again among them. CPU is that of the service alone.',
    '- Memory: the peak of the process tree, shared pages once, in MB of 1,000,000 bytes. What each operation should' +
      ' have done is checked, object by object.',
  ].join('\n');
}
