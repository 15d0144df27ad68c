import { Readable } from 'node:stream';
import type { AuditEvent } from '../../src/access/audit.ts';
import { GuardedFiles } from '../../src/access/guard.ts';
import { createPolicy, type Grant, OPEN_POLICY } from '../../src/access/policy.ts';
import { walk } from '../../src/files/fallbacks.ts';
import { createFiles } from '../../src/files/files.ts';
import { type RecordedChange, RecordedFiles } from '../../src/files/recorded-files.ts';
import type { RetentionOptions } from '../../src/files/retention.ts';
import { parseFile, ROOT } from '../../src/model/path.ts';
import type { FileEntry, Store } from '../../src/model/store.ts';
import { type UndoOptions, undo } from '../../src/undo/undo.ts';
import { openChanges } from '../changes/recorded.ts';

/** Files with a change log, and the undo of their changes. */
export interface UndoableFiles extends AsyncDisposable {
  readonly store: Store;
  /** The files of Ann. */
  readonly files: GuardedFiles;
  /** The records for the audit log. */
  readonly events: readonly AuditEvent[];
  /** Makes a change, and returns its ID. */
  change(work: (files: GuardedFiles) => Promise<unknown>): Promise<string>;
  /** As `change`, but returns undefined if the operation changed nothing. */
  changeIfAny(work: (files: GuardedFiles) => Promise<unknown>): Promise<string | undefined>;
  /** Undoes a change, and returns the ID of the undo. */
  undo(id: string, options?: Partial<UndoOptions>): Promise<string>;
  upload(path: string, content: string): Promise<FileEntry>;
  /** Limits the permissions of Ann, who has all at first. */
  grant(...grants: readonly Grant[]): void;
  /** Returns the content of each file, and null for each folder. */
  tree(): Promise<Record<string, string | null>>;
  /** Returns the content of each file. */
  contents(): Promise<Record<string, string>>;
}

/** The caller remains the owner of the store. */
export async function openUndoableFiles(
  store: Store,
  retention: RetentionOptions = { trash: true, versions: true },
): Promise<UndoableFiles> {
  const changes = await openChanges();
  const { log, recorder } = changes;
  const rules = createFiles(store, { presignExpires: 60, retention });
  let policy = OPEN_POLICY;
  let last: string | undefined;
  const events: AuditEvent[] = [];
  const onRecorded = ({ id }: RecordedChange) => {
    last = id;
  };
  const filesWith = (undoes?: number) =>
    new GuardedFiles(
      new RecordedFiles(rules, recorder, { user: 'ann', undoes, identify: store.identify, onRecorded }),
      {
        policy: () => policy,
        user: { name: 'ann', groups: [] },
        confirm: async () => {},
        record: (event) => void events.push(event),
      },
    );
  const files = filesWith();
  const idIfAny = async (work: Promise<unknown>): Promise<string | undefined> => {
    last = undefined;
    await work;
    return last;
  };
  const idAfter = async (work: Promise<unknown>): Promise<string> => {
    const id = await idIfAny(work);
    if (id === undefined) throw new Error('No change was recorded.');
    return id;
  };
  return {
    store,
    files,
    events,
    change: (work) => idAfter(work(files)),
    changeIfAny: (work) => idIfAny(work(files)),
    undo: (id, options) =>
      idAfter(undo(id, { log, files, filesToUndo: filesWith, identify: store.identify, ...options })),
    upload: (path, content) =>
      files.upload({ target: { path: parseFile(path) }, body: Readable.from([Buffer.from(content)]) }),
    grant(...grants) {
      policy = createPolicy([{ name: 'ann', password: undefined, groups: [], tokens: [] }], grants);
    },
    tree: () => readTree(store),
    async contents() {
      const contents: Record<string, string> = {};
      for (const [path, content] of Object.entries(await readTree(store))) {
        if (content !== null) contents[path] = content;
      }
      return contents;
    },
    [Symbol.asyncDispose]: () => changes[Symbol.asyncDispose](),
  };
}

async function readTree(store: Store): Promise<Record<string, string | null>> {
  const tree: Record<string, string | null> = {};
  for await (const entry of walk(store, ROOT)) {
    if (entry.kind === 'folder') tree[entry.path] = null;
    else tree[entry.path] = Buffer.concat(await (await store.read(entry.path)).body.toArray()).toString();
  }
  return tree;
}
