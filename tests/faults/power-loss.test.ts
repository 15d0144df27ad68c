import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { before, describe, it } from 'node:test';
import { atEnd, type Owner, temporaryFolder } from '../../testing/holdall.ts';
import type { Tree } from '../../testing/power-loss/simulated-disk.ts';
import { startInProcess } from '../../testing/service.ts';
import { treeOf } from '../http/client.ts';
import type { Need } from '../runner/needs.ts';
import { type Outcome, ROOT, recordSession, type Session, type Snapshot, type Step } from './power-loss-session.ts';
import { DEFAULT_STEPS, STEPS_WITHOUT_TRASH } from './power-loss-steps.ts';

export const needs: readonly Need[] = ['strace'];

const SESSIONS: readonly {
  readonly title: string;
  readonly settings: Readonly<Record<string, string>>;
  readonly steps: readonly Step[];
}[] = [
  { title: 'Power loss', settings: {}, steps: DEFAULT_STEPS },
  {
    title: 'Power loss without a trash and versions',
    settings: { TRASH_DAYS: '0', VERSIONS_DAYS: '0' },
    steps: STEPS_WITHOUT_TRASH,
  },
];

for (const { title, settings, steps } of SESSIONS) {
  describe(title, () => {
    let session: Session;
    before(async () => {
      session = await withOwner((owner) => recordSession(owner, steps, settings));
    });
    const outcomeOf = (step: Step): Outcome => session.outcomes.get(step.title) ?? assert.fail(step.title);

    for (const step of steps) {
      it(`after the response leaves ${step.title}`, async () => {
        const { previous, after } = outcomeOf(step);
        // What an earlier step lost fails the test of that step.
        const known = new Set(differences(previous));
        assert.deepEqual(
          differences(after).filter((difference) => !known.has(difference)),
          [],
        );
        await withOwner(async (owner) => {
          assert.deepEqual(await rowsOf(owner, after.afterPowerLoss), await rowsOf(owner, after.current));
        });
      });

      it(`during ${step.title} loses no file that existed before, and leaves no partial file`, () => {
        assert.deepEqual(lossesDuring(outcomeOf(step)), []);
      });
    }

    it('leaves a disk that the service serves again', async () => {
      const { after } = outcomeOf(steps.at(-1) ?? assert.fail('There are no steps.'));
      await withOwner(async (owner) => {
        const disk = await temporaryFolder(owner);
        await writeTree(disk, after.afterPowerLoss);
        const { port } = await startInProcess(owner, {
          root: join(disk, ROOT),
          settings: { ACCESS: 'open', ...settings },
        });
        const served = [...after.current].filter(([path]) => path !== ROOT && isServed(path));
        const expected = served.map(([path, content]) => [path.slice(ROOT.length), content && String(content)]);
        assert.deepEqual(await treeOf(port), Object.fromEntries(expected));
      });
    });

    it('is simulated with all changes that the disk has', () => {
      const { simulated, real } = session;
      assert.deepEqual(differences({ current: withoutIndex(real), afterPowerLoss: withoutIndex(simulated) }), []);
    });
  });
}

/** Describes what a power loss removes, changes and brings back. */
function differences({ current, afterPowerLoss }: Snapshot): string[] {
  const found: string[] = [];
  for (const path of new Set([...current.keys(), ...afterPowerLoss.keys()])) {
    if (!isDurable(path)) continue;
    const [expected, actual] = [current.get(path), afterPowerLoss.get(path)];
    if (actual === undefined) found.push(`lost: ${path}`);
    else if (expected === undefined && canReturn(path)) continue;
    else if (expected === undefined) found.push(`returned: ${path}`);
    else if (expected && actual && !expected.equals(actual))
      found.push(`${actual.length} of ${expected.length} bytes: ${path}`);
  }
  return found;
}

/**
 * Returns whether a path is one that a power loss must not change. Temporary files, caches, and empty folders in the recovery
 * folder can disappear and return. The rows of the database are compared instead of its files.
 */
const isDurable = (path: string): boolean =>
  !/^root\/\.holdall\/(?:temporary\/|cache\/|recovered\/.*\/$|.*\.sqlite(?:-wal|-shm|-journal)?$)/s.test(path);

/** Returns whether a path can return: the content of an upload that is stored or cancelled. Its record no longer exists, or has the stored file. */
const canReturn = (path: string): boolean => path.startsWith(`${ROOT}.holdall/uploads/`);

/**
 * Describes what power losses during a step would do to files: to the contents that exist before and after the step, wherever
 * they are, and to the paths that exist before and after. Each path must have its old or its new content.
 */
function lossesDuring({ previous, after, during }: Outcome): string[] {
  const [old, current] = [previous.current, after.current];
  const [oldContents, newContents] = [contentsOf(old), contentsOf(current)];
  const kept = oldContents.intersection(newContents).difference(replacedContents(old, current));
  const known = oldContents.union(newContents);
  const found = new Set<string>();
  for (const tree of during) {
    const contents = contentsOf(tree);
    for (const content of kept.difference(contents)) found.add(`lost: the content ${excerpt(content)}`);
    for (const content of contents.difference(known)) found.add(`partial: ${excerpt(content)}`);
    for (const [path, content] of tree) {
      const [former, next] = [old.get(path), current.get(path)];
      if (!isServed(path) || !content || !former || !next) continue;
      if (!content.equals(former) && !content.equals(next))
        found.add(`${path} has the content ${excerpt(String(content))}`);
    }
    for (const [path, content] of old) {
      if (isServed(path) && content && current.get(path)?.equals(content) && !tree.has(path))
        found.add(`lost: ${path}`);
    }
  }
  return [...found];
}

/**
 * Returns the contents that became versions. The version of a file has its name before the file is replaced, and this name is synced
 * after it. A power loss in between keeps the version only on file systems that preserve the order of both changes.
 */
function replacedContents(old: Tree, current: Tree): Set<string> {
  const isVersion = (path: string) => path.startsWith(`${ROOT}.holdall/versions/`);
  const versions = [...current].filter(([path]) => isVersion(path) && !old.has(path));
  return new Set(versions.flatMap(([, content]) => (content ? [textOf(content)] : [])));
}

const isServed = (path: string): boolean => path.startsWith(ROOT) && !path.startsWith(`${ROOT}.holdall/`);

/**
 * Returns the contents of all files that users and operators can get back: at their paths, as versions, in the trash, in the
 * recovery folder, and files of interrupted moves, which the next start moves to the recovery folder. The trash can have content
 * whose record was lost: the service logs its path.
 */
function contentsOf(tree: Tree): Set<string> {
  const contents = new Set<string>();
  for (const [path, content] of tree) {
    const own = /^root\/\.holdall\/(.*)$/s.exec(path)?.[1];
    const isKept = own === undefined || OWN_CONTENT.test(own);
    if (content && isKept) contents.add(textOf(content));
  }
  return contents;
}

const knownTexts = new WeakMap<Buffer, string>();

/** Returns the same string for the same buffer, which is in many trees. */
function textOf(content: Buffer): string {
  const text = knownTexts.get(content) ?? content.toString();
  knownTexts.set(content, text);
  return text;
}

const OWN_CONTENT = /^(?:versions\/|trash\/[^.]*(?:\/|$)|recovered\/|uploads\/|temporary\/[^/]+\/moved-)/;

const excerpt = (content: string): string => JSON.stringify(content.slice(0, 20));

const withoutIndex = (tree: Tree): Tree => new Map([...tree].filter(([path]) => !path.endsWith('-shm')));

/** The tables of the change log, which is not synced: docs/decisions/change-log.md. */
const UNSYNCED_TABLES = new Set(['changes', 'change_feed']);

/** Opens the database of a tree and returns its rows by table. */
async function rowsOf(owner: Owner, tree: Tree): Promise<Record<string, unknown[]>> {
  const folder = await temporaryFolder(owner);
  for (const suffix of ['', '-wal', '-journal']) {
    const name = `holdall.sqlite${suffix}`;
    const content = tree.get(`${ROOT}.holdall/${name}`);
    if (content) await writeFile(join(folder, name), content);
  }
  const database = new DatabaseSync(join(folder, 'holdall.sqlite'));
  atEnd(owner, () => database.close());
  // Closing it would wait for the disk.
  database.exec('pragma synchronous = off');
  const tables = database.prepare("select name from sqlite_schema where type = 'table' order by name").all();
  const names = tables.map(({ name }) => String(name)).filter((name) => !UNSYNCED_TABLES.has(name));
  return Object.fromEntries(names.map((name) => [name, database.prepare(`select * from ${name}`).all()]));
}

async function writeTree(folder: string, tree: Tree): Promise<void> {
  for (const [path, content] of tree) {
    if (content) await writeFile(join(folder, path), content);
    else await mkdir(join(folder, path), { mode: 0o700 });
  }
}

/** Runs a task, and then ends what it started. */
async function withOwner<Result>(task: (owner: Owner) => Promise<Result>): Promise<Result> {
  const ends: (() => Promise<void>)[] = [];
  try {
    return await task({ after: (end) => void ends.push(end) });
  } finally {
    for (const end of ends.toReversed()) await end();
  }
}
