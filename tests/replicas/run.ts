import { parseArgs } from 'node:util';
import { requireCommands } from '../../testing/debian-packages.js';
import type { Owner } from '../../testing/holdall.ts';
import { readNumber } from '../../testing/options.ts';
import { CEPH_COMMANDS } from '../../testing/servers/ceph.ts';
import { type Column, formatTable } from '../../testing/table.ts';
import { openCephStage } from './bucket-stage.ts';
import { type Fault, NOTHING } from './fault.ts';
import { BUCKET_FAULTS, SHARED_FAULTS } from './faults.ts';
import { openBranchStage, openDiskStage } from './shared-stages.ts';
import type { Stage } from './stage.ts';
import { complaints, type Result, tryFault } from './trial.ts';

// Causes every fault for longer than the tests do, and prints the results as a table in Markdown. Exits with 1 if a file was lost,
// or a request failed that must not.

const { values } = parseArgs({ options: { seconds: { type: 'string', default: '20' }, only: { type: 'string' } } });
const seconds = readNumber('seconds', values.seconds, 0);
const SIZE = { clientsOfRole: 2, rest: 0 };

const rows: string[][] = [];

/** Causes the selected faults, on their own replicas. */
async function tryOn<On extends Stage>(
  site: string,
  open: (owner: Owner) => Promise<On>,
  faults: readonly Fault<On>[],
): Promise<void> {
  const wanted = [NOTHING, ...faults].filter(({ name }) => `${site}: ${name}`.includes(values.only ?? ''));
  if (wanted.length === 0) return;
  const ends: (() => Promise<void>)[] = [];
  try {
    const stage = await open({ after: (end) => void ends.push(end) });
    for (const fault of wanted) {
      const reason = fault.whyNot?.(stage);
      if (reason !== undefined) process.stderr.write(`Left out, "${fault.name}": ${reason}\n`);
      else rows.push(rowOf(site, stage, fault, await tryFault(stage, fault, { before: seconds, seconds, ...SIZE })));
    }
  } finally {
    for (const end of ends) await end();
  }
}

function rowOf(site: string, stage: Stage, fault: Pick<Fault<never>, 'isUnnoticed'>, result: Result): string[] {
  const { name, times, before, during, outcomes, lost, failed, recovered } = result;
  for (const complaint of complaints(stage, fault, result)) {
    process.exitCode = 1;
    process.stderr.write(`  ${complaint}\n`);
  }
  const row = [
    site,
    times > 1 ? `${name}, ${times} times` : name,
    `${before.toFixed(0)} → ${during.toFixed(0)}`,
    ...[outcomes.acknowledged, outcomes.refused, outcomes.unknown, failed.length, lost.length].map(String),
    recovered.toFixed(1),
  ];
  process.stderr.write(`${row.join(' | ')}\n`);
  return row;
}

const COLUMNS: Column[] = [
  { heading: 'replicas', align: 'left' },
  { heading: 'fault', align: 'left' },
  { heading: 'requests/s before → during', align: 'right' },
  ...['acknowledged', 'refused', 'unknown', 'failed', 'lost', 'recovery (s)'].map(
    (heading): Column => ({ heading, align: 'right' }),
  ),
];

requireCommands({ nginx: 'nginx-light', git: 'git', ...CEPH_COMMANDS });
await tryOn('three on a bucket', (owner) => openCephStage(owner, 3), BUCKET_FAULTS);
await tryOn('two on a folder', openDiskStage, SHARED_FAULTS);
await tryOn('two on a branch', openBranchStage, SHARED_FAULTS);
process.stdout.write(`${formatTable(COLUMNS, rows)}\n`);
