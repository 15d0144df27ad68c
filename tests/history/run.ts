import assert from 'node:assert/strict';
import type { History, Line, Operation } from './history.ts';
import { perform } from './perform.ts';
import type { Fault, ItemChoice, Plan, Planned, Round } from './plan.ts';

/** Two services on one store, which are ended and started anew. */
export interface ReplicaSet {
  /** The ports of the services that run, by their numbers. */
  readonly ports: ReadonlyMap<number, number>;
  /** Kills all processes of a service at once. */
  kill(replica: number): Promise<void>;
  /** Starts all services that have ended. */
  restart(): Promise<void>;
  /** What the store keeps of deleted and replaced files; undefined where the runs don't look at it. */
  readonly trash?: TrashContents | undefined;
  /** Has the connections of the next requests to the store cut, and calls back for each. */
  cut(requests: readonly ('cut' | 'cut when done')[], onCut: () => void): void;
}

/** A look into the store, behind the services. */
export interface TrashContents {
  /** The item of the trash that a number chooses; undefined if the trash is empty. */
  choose(choice: number): Promise<TrashItem | undefined>;
  /** Every content that is at a path, a version, or in the trash. */
  contents(): Promise<readonly number[]>;
}

/** An item of the trash, whose contents never change. */
export interface TrashItem {
  readonly id: string;
  /** The path of a folder ends with its `/`. */
  readonly path: string;
  /** The contents by their paths, as before the item was deleted. */
  readonly files: Readonly<Record<string, number>>;
}

/** Does what is planned, and gives the history of it. */
export async function run(plan: Plan, site: ReplicaSet): Promise<History> {
  const { store, seed, paths, rounds } = plan;
  const recorder = createRecorder(site);
  for (const round of rounds) {
    await runRound(round, site, recorder);
    recorder.note({ is: 'barrier' });
    await lookAtAll(plan, site, recorder);
    recorder.note({ is: 'looked' });
    if (site.trash) recorder.note({ is: 'kept', contents: await site.trash.contents() });
  }
  return { store, seed, paths, lines: recorder.lines };
}

type Recorder = ReturnType<typeof createRecorder>;

function createRecorder(site: ReplicaSet) {
  const lines: Line[] = [];
  const started = performance.now();
  let operations = 0;
  const note = (line: Unstamped) =>
    void lines.push({ ...line, at: Math.round((performance.now() - started) * 1000) / 1000 });

  return {
    lines,
    note,
    async perform(client: string, replica: number, operation: Operation): Promise<void> {
      const port = site.ports.get(replica);
      assert.ok(port !== undefined, `The service ${replica} runs.`);
      const id = ++operations;
      note({ is: 'call', id, client, replica, operation });
      const outcome = await perform(port, operation);
      note({ is: 'end', id, outcome });
    },
  };
}

type Unstamped = Line extends infer One ? (One extends Line ? Omit<One, 'at'> : never) : never;

async function runRound({ clients, fault }: Round, site: ReplicaSet, recorder: Recorder): Promise<void> {
  let begun = 0;
  let failing: Promise<void> | undefined;
  const runClient = async (operations: readonly Planned[], number: number) => {
    for (const { operation, replica } of operations) {
      if (++begun === fault?.after) failing = cause(fault, site, recorder);
      const chosen = 'choice' in operation ? await chooseItem(operation, site) : operation;
      const [running = replica] = site.ports.has(replica) ? [replica] : site.ports.keys();
      if (chosen) await recorder.perform(`client ${number}`, running, chosen);
    }
  };
  await Promise.all(clients.map(runClient));
  await failing;
  site.cut([], () => {});
  await site.restart();
}

/** The operation on an item that is in the trash now. It can be gone when the service gets the request. */
async function chooseItem({ does, choice }: ItemChoice, { trash }: ReplicaSet): Promise<Operation | undefined> {
  const item = await trash?.choose(choice);
  if (!item) return undefined;
  const { id, path, files } = item;
  if (does === 'purge item') return { does: 'purge', item: id, contents: Object.values(files) };
  if (path.endsWith('/')) return { does: 'restore folder', item: id, folder: path, files };
  return { does: 'restore', item: id, path, content: files[path] ?? 0 };
}

async function cause(fault: Fault, site: ReplicaSet, recorder: Recorder): Promise<void> {
  if (fault.does === 'kill') {
    recorder.note({ is: 'fault', fault: 'kill', replica: fault.replica });
    await site.kill(fault.replica);
  } else {
    site.cut(fault.requests, () => recorder.note({ is: 'fault', fault: 'cut' }));
  }
}

/** Each service gives every file and every folder. */
async function lookAtAll({ paths, folders }: Plan, site: ReplicaSet, recorder: Recorder): Promise<void> {
  for (const replica of site.ports.keys()) {
    const looks: Operation[] = [
      ...paths.map((path) => ({ does: 'fetch', path }) as const),
      ...['', ...folders].map((folder) => ({ does: 'list', folder }) as const),
    ];
    await Promise.all(looks.map((operation) => recorder.perform('look', replica, operation)));
  }
}
