import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { openDisk } from '../../src/stores/disk/disk.ts';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { until } from '../../testing/until.ts';
import { silentLog } from '../contract/bytes.ts';
import { IN_FULL_FORM_ONLY } from '../full-forms.ts';
import { contentsOf, KILLS, readLog, runRepeatedly } from './kept-contents.ts';

interface Course {
  /** Number of processes that share the folder. */
  readonly processes: number;
  readonly kills: number;
  /** Whether the processes only write files. */
  readonly onlyWrites?: boolean;
}

it('A process that deletes, restores, moves and replaces files keeps each content once', IN_FULL_FORM_ONLY, (t) =>
  verifyContents(t, { processes: 1, kills: 0 }),
);

it('kill -9 of a process that deletes, restores, moves and replaces files loses no content', (t) =>
  verifyContents(t, { processes: 1, kills: KILLS }));

it('kill -9 of processes that replace the same files loses no version', IN_FULL_FORM_ONLY, (t) =>
  verifyContents(t, { processes: 2, kills: KILLS, onlyWrites: true }),
);

/** Verifies that each content that was written is a file, a version, or in the trash. */
async function verifyContents(t: TestContext, course: Course): Promise<void> {
  const folder = await temporaryFolder(t);
  const root = join(folder, 'root');
  const logs = Array.from({ length: course.processes }, (_, number) => join(folder, `log-${number}`));
  await Promise.all(
    logs.map((log, number) => runRepeatedly(t, { ...course, target: root, log, name: String(number) })),
  );

  const { began, wrote } = await readLog(...logs);
  assert.ok(wrote.size > course.processes * Math.max(course.kills, 1));

  const { store } = await openDisk({ root, log: silentLog });
  atEnd(t, () => store.close?.());
  // An interrupted replacement is completed when it is too old to be in progress.
  const contents = await until('every acknowledged content is present', async () => {
    const found = await contentsOf(store);
    return wrote.isSubsetOf(new Set(found)) ? found : undefined;
  });
  // An operation that is killed between its two steps leaves a file with two names.
  const repeated = contents.length - new Set(contents).size;
  assert.ok(repeated <= course.processes * course.kills, `${repeated} contents are present twice.`);
  assert.ok(new Set(contents).isSubsetOf(began));
}
