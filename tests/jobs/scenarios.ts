import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { GuardedFiles, type Operation } from '../../src/access/guard.ts';
import { OPEN_POLICY } from '../../src/access/policy.ts';
import { expireKept } from '../../src/files/expiry.ts';
import { createFiles, type Files } from '../../src/files/files.ts';
import { RecordedFiles } from '../../src/files/recorded-files.ts';
import { createExpiryKind } from '../../src/jobs/expiry.ts';
import type { JobKind } from '../../src/jobs/job.ts';
import { createOperationKinds, jobOf } from '../../src/jobs/operations.ts';
import { ROOT } from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { until } from '../../testing/until.ts';
import type { RecordedChanges } from '../changes/recorded.ts';
import { file, folder, plant, treeOf, upload } from '../contract/bytes.ts';
import { ANN } from './contract.ts';

export const [A, B] = [folder('a'), folder('b')];

/** The files before each job. */
const OLD = { 'a/': null, 'a/x': 'one', 'a/sub/': null, 'a/sub/y': 'two' };

export const OLD_TEXTS = ['one', 'two'];

/** The files of a folder that a job replaces. */
const REPLACED = { 'b/x': 'three', 'b/z': 'four' };
const REPLACED_TEXTS = Object.values(REPLACED);

/** What a job does, what clients do after its first attempt, and what they must find after the second one. */
export interface Scenario {
  readonly name: string;
  /** Makes the changes before the job. Returns a function that returns the job, for each process that runs it. */
  readonly prepare: (world: World) => Promise<(world: World) => NewJob>;
  /** The files that clients write after the first attempt. */
  readonly later: Record<string, string>;
  /** Whether clients then move the folder `a` to the trash. */
  readonly isDeletedLater?: boolean;
  /** Whether clients then bring the folder `a` back: they restore it from the trash, or move it back from `b`. */
  readonly isBroughtBack?: boolean;
  /** The texts from before the job that remain in the store. Default: all */
  readonly kept?: readonly string[];
  /** Whether it removes items from the trash, or versions. */
  readonly purges?: boolean;
  /** Whether the second attempt fails, because it can't tell the copy of the first one from other content. */
  readonly fails?: boolean;
}

interface NewJob {
  readonly kind: JobKind;
  readonly input: object;
}

function operating(prepare: (world: World) => Promise<Operation> | Operation): Scenario['prepare'] {
  return async (world) => {
    const operation = await prepare(world);
    return (each) => each.jobOf(operation);
  };
}

const DAYS = 30;

/** Returns a job that removes what was kept until now. Resolves when other content is newer. */
async function expiring(): Promise<(world: World) => NewJob> {
  const limits = { days: DAYS, maxBytes: undefined };
  const last = Date.now();
  const time = new Date(last + 1 + DAYS * 24 * 60 * 60_000);
  await until('the next millisecond', () => Date.now() > last);
  return ({ store }) => {
    const expire = (options: object, now: Date) =>
      expireKept(store, { trash: limits, versions: limits }, options, now.getTime());
    return { kind: createExpiryKind(expire, { advance: async () => time }), input: {} };
  };
}

export const SCENARIOS: readonly Scenario[] = [
  ...[false, true].map((permanent) => ({
    name: permanent ? 'deletes permanently' : 'deletes',
    prepare: operating(() => ({ action: 'delete folder', from: A, permanent })),
    later: { 'a/x': 'of another client', 'a/new': 'too' },
    kept: permanent ? [] : OLD_TEXTS,
  })),
  ...[false, true].map((replace) => ({
    name: replace ? 'moves and replaces' : 'moves',
    prepare: operating(async ({ store }) => {
      if (replace) await writeKept(store, REPLACED);
      return { action: 'move folder', from: A, to: B, replace };
    }),
    later: { 'a/x': 'of another client', 'a/new': 'too', 'b/x': 'changed', 'b/new': 'too' },
    kept: replace ? [...OLD_TEXTS, ...REPLACED_TEXTS] : OLD_TEXTS,
  })),
  {
    name: 'deletes what was restored, and',
    prepare: operating(() => ({ action: 'delete folder', from: A, permanent: false })),
    later: {},
    isBroughtBack: true,
  },
  {
    name: 'moves what was moved back, and',
    prepare: operating(() => ({ action: 'move folder', from: A, to: B, replace: false })),
    later: {},
    isBroughtBack: true,
    fails: true,
  },
  {
    name: 'renames',
    prepare: operating(() => ({ action: 'rename folder', from: A, to: B, replace: false })),
    later: { 'a/x': 'of another client', 'b/x': 'changed' },
  },
  {
    name: 'copies',
    prepare: operating(() => ({ action: 'copy folder', from: A, to: B, replace: false })),
    later: { 'a/x': 'changed', 'b/new': 'of another client' },
    fails: true,
  },
  {
    name: 'copies and replaces',
    prepare: operating(async ({ store }) => {
      await writeKept(store, REPLACED);
      return { action: 'copy folder', from: A, to: B, replace: true };
    }),
    later: { 'b/x': 'changed by another client', 'b/new': 'too' },
    kept: [...OLD_TEXTS, ...REPLACED_TEXTS],
    fails: true,
  },
  {
    name: 'restores',
    prepare: operating(async ({ files }) => {
      const { id, path } = await trashed(files);
      return { action: 'restore', id, from: path, to: path, rename: false };
    }),
    later: { 'a/x': 'changed', 'a/new': 'too' },
  },
  {
    name: 'deletes from the trash',
    prepare: operating(async ({ files }) => {
      const { id, path } = await trashed(files);
      return { action: 'delete from trash', id, from: path };
    }),
    later: { 'a/x': 'of another client' },
    isDeletedLater: true,
    kept: [],
    purges: true,
  },
  {
    name: 'empties the trash',
    prepare: operating(async ({ files }) => {
      await trashed(files);
      return { action: 'empty trash', folder: ROOT };
    }),
    later: { 'a/x': 'of another client' },
    isDeletedLater: true,
    kept: [],
    purges: true,
  },
  {
    name: 'expires',
    async prepare(world) {
      await writeKept(world.store, { version: 'older' });
      await writeKept(world.store, { version: 'newer' });
      await trashed(world.files);
      return expiring();
    },
    later: { 'a/x': 'of another client', version: 'of another client' },
    isDeletedLater: true,
    kept: ['newer'],
    purges: true,
  },
];

/** The files that clients replace. */
const VERSIONED = ['a/x', 'b/x', 'version'];

/** Writes files like clients whose replaced files become versions. */
async function writeKept(store: Store, texts: Readonly<Record<string, string>>): Promise<void> {
  await Promise.all(Object.entries(texts).map(([path, text]) => store.write(file(path), upload(text), { keep: {} })));
}

/** A job in the database, and its attempts. */
export class TestJob {
  readonly #jobIn: (world: World) => NewJob;
  readonly #target: object | undefined;
  readonly #createdAt = new Date();
  #checkpoint: object | undefined;

  constructor(jobIn: (world: World) => NewJob, target: object | undefined) {
    this.#jobIn = jobIn;
    this.#target = target;
  }

  static async create(jobIn: (world: World) => NewJob, world: World): Promise<TestJob> {
    const { kind, input } = jobIn(world);
    return new TestJob(jobIn, await kind.targetOf?.(input));
  }

  /** Returns the job as it was in the database before its first attempt. */
  restored(): TestJob {
    return new TestJob(this.#jobIn, this.#target);
  }

  /** Runs an attempt. */
  run(
    world: World,
    {
      isResumed,
      signal = new AbortController().signal,
      beforeSave = async () => {},
    }: { readonly isResumed: boolean; readonly signal?: AbortSignal; readonly beforeSave?: () => Promise<unknown> },
  ): Promise<object> {
    const { kind, input } = this.#jobIn(world);
    return kind.run(input, {
      submitter: ANN,
      target: this.#target,
      createdAt: this.#createdAt,
      isResumed,
      checkpoint: this.#checkpoint,
      signal,
      onProgress: () => {},
      save: async (saved) => {
        await beforeSave();
        this.#checkpoint = saved;
      },
    });
  }
}

/** Moves the folder `a` to the trash, and returns the item. */
export async function trashed(files: Files) {
  await files.deleteFolder(A);
  return (await files.listTrash()).items[0] ?? assert.fail('The trash is empty.');
}

/** A store with the files that jobs act on. */
export class World {
  readonly store: Store;
  readonly files: Files;
  readonly #log: RecordedChanges['log'] | undefined;

  /** Without `recorder`, changes are not recorded, as if the process were killed before that. */
  constructor(store: Store, { log, recorder }: Partial<RecordedChanges> = {}) {
    this.store = store;
    this.#log = log;
    const retention = { trash: true, versions: true };
    const files = createFiles(store, { presignExpires: 60, signer: undefined, contentUrl: undefined, retention });
    this.files = recorder ? new RecordedFiles(files, recorder, { user: undefined, identify: store.identify }) : files;
  }

  async plant(): Promise<void> {
    await plant(this.store, OLD);
  }

  jobOf(operation: Operation): NewJob {
    const { kind: name, input } = jobOf(operation);
    return { kind: this.#kinds.find((each) => each.name === name) ?? assert.fail(name), input };
  }

  /** Makes the changes of clients after the first attempt. Returns whether they brought the folder `a` back. */
  async changeLater({ later, isDeletedLater = false, isBroughtBack = false }: Scenario): Promise<boolean> {
    await writeKept(this.store, later);
    if (isDeletedLater) await trashed(this.files);
    return isBroughtBack && this.#bringBack();
  }

  async #bringBack(): Promise<boolean> {
    if (await this.files.folderExists(A)) return false;
    const { items } = await this.files.listTrash();
    const [item] = items;
    if (item) await this.files.restoreTrashed(item.id);
    else await this.files.moveFolder(B, A, { replace: false });
    return true;
  }

  /** Returns the texts of all files, also of those in the trash, and of all versions. Empties the trash. */
  async texts(): Promise<ReadonlySet<string>> {
    const { items } = await this.files.listTrash();
    for (const { id, path } of items) {
      const to = `restored ${id}`;
      await this.files.restoreTrashed(id, { to: path.endsWith('/') ? folder(to) : file(to) });
    }
    const tree = await treeOf(this.store);
    const texts = new Set(Object.values(tree).filter((text) => text !== null));
    for (const path of VERSIONED.map(file)) {
      const { versions = [] } = (await this.store.listVersions?.(path)) ?? {};
      for (const { id } of versions) {
        const content = await this.store.readVersion?.(path, id);
        if (content) texts.add((await buffer(content.body)).toString());
      }
    }
    return texts;
  }

  /** Returns the files and the trash. */
  async state() {
    const { items } = await this.files.listTrash();
    return { tree: await treeOf(this.store), trash: items.map(({ id }) => id) };
  }

  get #kinds(): readonly JobKind[] {
    const guarded = () =>
      new GuardedFiles(this.files, {
        policy: () => OPEN_POLICY,
        user: undefined,
        confirm: async () => {},
        record: () => {},
      });
    return createOperationKinds(guarded, this.store, this.#log);
  }
}
