import assert from 'node:assert/strict';
import { escapePath, jsonOf, send } from '../http/client.ts';
import type { History, Line, Operation, UndoableOperation } from './history.ts';
import { perform } from './perform.ts';
import type { Choice, Fault, Plan, Planned, Round } from './plan.ts';

/** Two services on one store, which are killed and restarted. */
export interface ReplicaSet {
  /** The ports of the running services, by number. */
  readonly ports: ReadonlyMap<number, number>;
  /** Kills all processes of a service at the same time. */
  kill(replica: number): Promise<void>;
  /** Starts all services that have ended. */
  restart(): Promise<void>;
  readonly kept: StoredContents;
  /** Cuts the connections of the next requests to the store, and calls back for each. */
  cut(requests: readonly ('cut' | 'cut when done')[], onCut: () => void): void;
}

/** Reads the contents of a store without the services. */
export interface StoredContents {
  /** Returns the items of the trash, in a stable order. */
  items(): Promise<readonly TrashItem[]>;
  /** Returns every content that is at a path, a version, or in the trash. */
  all(): Promise<readonly number[]>;
}

/** An item of the trash, whose contents never change. */
export interface TrashItem {
  readonly id: string;
  /** The path of a folder ends with its `/`. */
  readonly path: string;
  /** The contents by path, as before the delete. */
  readonly files: Readonly<Record<string, number>>;
}

/** Runs a plan. Returns its history. */
export async function run(plan: Plan, site: ReplicaSet): Promise<History> {
  const { store, seed, paths, rounds } = plan;
  const recorder = createRecorder(site);
  for (const round of rounds) {
    await runRound(round, site, recorder);
    recorder.note({ is: 'barrier' });
    await readEverything(plan, site, recorder);
    recorder.note({ is: 'looked' });
    recorder.note({ is: 'kept', contents: await site.kept.all() });
  }
  return { store, seed, paths, lines: recorder.lines };
}

type Recorder = ReturnType<typeof createRecorder>;

function createRecorder(site: ReplicaSet) {
  const lines: Line[] = [];
  const started = performance.now();
  /** The changes that can be undone, the oldest first. */
  const changes: UndoableChange[] = [];
  let operations = 0;
  const note = (line: Unstamped) =>
    void lines.push({ ...line, at: Math.round((performance.now() - started) * 1000) / 1000 });

  return {
    lines,
    note,
    changes,
    async perform(
      { client, replica, protocol }: { client: string; replica: number; protocol: Planned['protocol'] },
      operation: Operation,
    ): Promise<void> {
      const port = site.ports.get(replica);
      assert.ok(port !== undefined, `The service ${replica} runs.`);
      const id = ++operations;
      note({ is: 'call', id, client, replica, protocol, operation });
      const outcome = await perform(port, operation, protocol);
      note({ is: 'end', id, outcome });
      if (outcome.is === 'done' && outcome.change !== undefined && isUndoable(operation)) {
        changes.push({ change: outcome.change, of: operation });
      }
    },
  };
}

type Unstamped = Line extends infer Item ? (Item extends Line ? Omit<Item, 'at'> : never) : never;

async function runRound({ clients, fault }: Round, site: ReplicaSet, recorder: Recorder): Promise<void> {
  let begun = 0;
  let failing: Promise<void> | undefined;
  const runClient = async (operations: readonly Planned[], number: number) => {
    for (const { operation, replica, protocol } of operations) {
      if (++begun === fault?.after) failing = cause(fault, site, recorder);
      const chosen = 'choice' in operation ? await choose(operation, site, replica, recorder.changes) : operation;
      const from = { client: `client ${number}`, replica: runningReplica(site, replica), protocol };
      if (chosen) await recorder.perform(from, chosen);
    }
  };
  await Promise.all(clients.map(runClient));
  await failing;
  site.cut([], () => {});
  await site.restart();
}

/** Returns a running service: this one, or another one if it has ended. */
function runningReplica({ ports }: ReplicaSet, replica: number): number {
  const [running = replica] = ports.has(replica) ? [replica] : ports.keys();
  return running;
}

/** Returns the operation on an existing item; undefined if there is none. Another client can remove the item meanwhile. */
async function choose(
  choice: Choice,
  site: ReplicaSet,
  replica: number,
  changes: readonly UndoableChange[],
): Promise<Operation | undefined> {
  if (choice.does === 'choose change') {
    const recent = changes.slice(-RECENT_CHANGES);
    const chosen = recent[choice.choice % recent.length];
    return chosen && undoOf(chosen, site, replica);
  }
  if (choice.does === 'choose version') {
    const port = site.ports.get(runningReplica(site, replica));
    const versions = port === undefined ? [] : await versionsOf(port, choice.path);
    const version = versions[choice.choice % versions.length];
    return version && { does: 'restore version', version: version.id, path: choice.path, content: version.size };
  }
  const items = await site.kept.items();
  const item = items[choice.choice % items.length];
  if (!item) return undefined;
  const { id, path, files } = item;
  if (choice.does === 'purge item') return { does: 'purge', item: id, contents: Object.values(files) };
  if (path.endsWith('/')) return { does: 'restore folder', item: id, folder: path, files };
  return { does: 'restore', item: id, path, content: files[path] ?? 0 };
}

/** A change that the service acknowledged, and the operation that made it. */
interface UndoableChange {
  readonly change: string;
  readonly of: UndoableOperation;
}

/** Older changes can rarely be undone. */
const RECENT_CHANGES = 6;

function isUndoable(operation: Operation): operation is UndoableOperation {
  switch (operation.does) {
    case 'upload':
    case 'delete':
    case 'copy':
    case 'move':
    case 'rename':
    case 'restore':
    case 'restore version':
    case 'create folder':
    case 'delete folder':
      return true;
    case 'copy folder':
    case 'move folder':
    case 'rename folder':
      return !operation.replace;
    default:
      return false;
  }
}

/** Returns the undo of a change, with the contents that it can restore; undefined if the trash has several such items, or none. */
async function undoOf(
  { change, of }: UndoableChange,
  site: ReplicaSet,
  replica: number,
): Promise<Operation | undefined> {
  if (of.does === 'delete' || of.does === 'delete folder') {
    const path = of.does === 'delete' ? of.path : of.folder;
    const [item, ...others] = (await site.kept.items()).filter((each) => each.path === path);
    if (!item || others.length > 0) return undefined;
    const files = Object.entries(item.files).map(([file, content]) => [file, [content]]);
    return { does: 'undo', change, of, files: Object.fromEntries(files) };
  }
  if (of.does.endsWith(' folder')) return { does: 'undo', change, of, files: {} };
  const path = 'path' in of ? of.path : 'to' in of ? of.to : of.folder;
  const port = site.ports.get(runningReplica(site, replica));
  const versions = port === undefined ? [] : await versionsOf(port, path);
  return { does: 'undo', change, of, files: { [path]: versions.map(({ size }) => size) } };
}

/** Returns the versions of a file; none if the service can't list them at the moment. */
async function versionsOf(port: number, path: string): Promise<readonly { id: string; size: number }[]> {
  const response = await send(port, `/-/versions/${escapePath(path)}`).catch(() => undefined);
  if (response?.status !== 200) return [];
  return (jsonOf(response) as { versions: { id: string; size: number }[] }).versions;
}

async function cause(fault: Fault, site: ReplicaSet, recorder: Recorder): Promise<void> {
  if (fault.does === 'kill') {
    recorder.note({ is: 'fault', fault: 'kill', replica: fault.replica });
    await site.kill(fault.replica);
  } else {
    site.cut(fault.requests, () => recorder.note({ is: 'fault', fault: 'cut' }));
  }
}

/** Reads every file and folder from each service. */
async function readEverything({ paths, folders }: Plan, site: ReplicaSet, recorder: Recorder): Promise<void> {
  for (const replica of site.ports.keys()) {
    const looks: Operation[] = [
      ...paths.map((path) => ({ does: 'fetch', path }) as const),
      ...['', ...folders].map((folder) => ({ does: 'list', folder }) as const),
    ];
    await Promise.all(
      looks.map((operation) => recorder.perform({ client: 'look', replica, protocol: undefined }, operation)),
    );
  }
}
