import type { Operation, StoreKind } from './history.ts';

/** The operations and faults of a run, derived from its seed. Outcomes are not planned. */
export interface Plan {
  readonly store: StoreKind;
  readonly seed: number;
  readonly paths: readonly string[];
  readonly folders: readonly string[];
  readonly rounds: readonly Round[];
}

/** Concurrent operations of several clients. When all have ended, every path is read. */
export interface Round {
  /** The operations of each client, in their order. */
  readonly clients: readonly (readonly Planned[])[];
  readonly fault: Fault | undefined;
}

/** A number that selects an item of the trash, a version of a file or a recent change when the operation starts. */
export type Choice =
  | { readonly does: 'restore item' | 'purge item'; readonly choice: number }
  | { readonly does: 'choose version'; readonly path: string; readonly choice: number }
  | { readonly does: 'choose change'; readonly choice: number };

export interface Planned {
  readonly operation: Operation | Choice;
  /** The number of the service that gets the request; another one if that has ended. */
  readonly replica: number;
  /** The protocol of the client. Operations that WebDAV does not have are of the HTTP API. */
  readonly protocol: 'dav' | undefined;
}

/** A fault after this number of operations of the round have begun. */
export type Fault = { readonly after: number } & (
  | { readonly does: 'kill'; readonly replica: number }
  /** Requests of the services to their store lose their connection, before or after the store has processed them. */
  | { readonly does: 'cut'; readonly requests: readonly ('cut' | 'cut when done')[] }
);

// Few, so that operations conflict. The name of one file starts with the name of a folder.
const NAMES = ['x', 'y'];
const FOLDERS = ['f/', 'g/', 'h/'];
const PATHS = ['fx', 'a', ...FOLDERS.flatMap((folder) => NAMES.map((name) => folder + name))];

/** A bucket needs more steps per change, so steps of concurrent changes can alternate in more ways. */
const CLIENTS: Readonly<Record<StoreKind, number>> = {
  disk: 4,
  bucket: 3,
  'versioned-bucket': 3,
  github: 4,
};
const REPLICAS = 2;

/**
 * Minimum bytes of each kind of content: in one request to the store; slow, and to GitHub in a request of its own; and
 * uploaded to a bucket in parts.
 */
const [SMALL, MEDIUM, LARGE] = [1_000, 200_000, 8 * 2 ** 20 + 1_000];

export function planOf(store: StoreKind, seed: number, rounds: number): Plan {
  const random = randomOf(seed);
  const contents = contentsOf(store, random);
  return {
    store,
    seed,
    paths: PATHS,
    folders: FOLDERS,
    rounds: Array.from({ length: rounds }, () => roundOf(store, random, contents)),
  };
}

function roundOf(store: StoreKind, random: Random, contents: () => number): Round {
  const operations = (): Planned[] => {
    const protocol = random.below(3) === 0 ? 'dav' : undefined;
    return Array.from({ length: 2 + random.below(4) }, () => planned(store, random, contents, protocol));
  };
  const clients = Array.from({ length: CLIENTS[store] }, operations);
  const after = 1 + random.below(clients.flat().length);
  const cuts = () => Array.from({ length: 1 + random.below(3) }, () => random.of(['cut', 'cut when done'] as const));
  const faults: (() => Fault | undefined)[] = [
    () => undefined,
    () => undefined,
    () => ({ does: 'kill', replica: random.below(REPLICAS), after }),
    () => (store === 'disk' ? undefined : { does: 'cut', requests: cuts(), after }),
  ];
  return { clients, fault: random.of(faults)() };
}

function planned(store: StoreKind, random: Random, contents: () => number, protocol: Planned['protocol']): Planned {
  // The history of a branch keeps everything.
  const operations = store === 'github' ? [...OPERATIONS, ...RESTORING] : [...OPERATIONS, ...RESTORING, purgeItem];
  return { operation: random.of(operations)(random, contents), replica: random.below(REPLICAS), protocol };
}

type Draw = (random: Random, contents: () => number) => Planned['operation'];

const upload: Draw = (random, contents) => ({
  does: 'upload',
  path: random.of(PATHS),
  content: contents(),
  isNew: random.below(3) === 0,
  leaves: ([undefined, undefined, undefined, undefined, undefined, undefined, 'early', 'late'] as const)[
    random.below(8)
  ],
});

const fetch: Draw = (random) => {
  const start = random.below(500);
  const range = random.below(3) === 0 ? ([start, start + 99 + random.below(400)] as const) : undefined;
  return { does: 'fetch', path: random.of(PATHS), range };
};

const transfer =
  (does: 'copy' | 'move'): Draw =>
  (random) => {
    const [from, to] = random.two(PATHS);
    return { does, from, to, replace: random.below(2) === 0 };
  };

const rename: Draw = (random) => {
  const folder = random.of(FOLDERS);
  const [from, to] = random.two(NAMES);
  return { does: 'rename', from: folder + from, to: folder + to, replace: random.below(2) === 0 };
};

const folderTransfer =
  (does: 'copy folder' | 'move folder' | 'rename folder'): Draw =>
  (random) => {
    const [from, to] = random.two(FOLDERS);
    return { does, from, to, replace: random.below(2) === 0 };
  };

const OPERATIONS: readonly Draw[] = [
  upload,
  upload,
  upload,
  upload,
  upload,
  upload,
  fetch,
  fetch,
  fetch,
  fetch,
  (random) => ({ does: 'list', folder: random.of(['', ...FOLDERS]) }),
  (random) => ({ does: 'list', folder: random.of(['', ...FOLDERS]) }),
  (random) => ({ does: 'delete', path: random.of(PATHS) }),
  (random) => ({ does: 'delete', path: random.of(PATHS) }),
  rename,
  transfer('copy'),
  transfer('copy'),
  transfer('move'),
  transfer('move'),
  (random) => ({ does: 'create folder', folder: random.of(FOLDERS) }),
  (random) => ({ does: 'delete folder', folder: random.of(FOLDERS) }),
  folderTransfer('copy folder'),
  folderTransfer('move folder'),
  folderTransfer('rename folder'),
];

const restoreItem: Draw = (random) => ({ does: 'restore item', choice: random.below(1000) });
const purgeItem: Draw = (random) => ({ does: 'purge item', choice: random.below(1000) });
const restoreVersion: Draw = (random) => ({
  does: 'choose version',
  path: random.of(PATHS),
  choice: random.below(1000),
});

const undo: Draw = (random) => ({ does: 'choose change', choice: random.below(1000) });

const RESTORING: readonly Draw[] = [
  restoreItem,
  restoreItem,
  restoreItem,
  restoreItem,
  restoreVersion,
  restoreVersion,
  undo,
  undo,
  undo,
  undo,
];

/** Returns a content that no upload has had. */
function contentsOf(store: StoreKind, random: Random): () => number {
  const sizes = [...Array.from({ length: 8 }, () => SMALL), MEDIUM, MEDIUM, store.endsWith('bucket') ? LARGE : MEDIUM];
  let uploads = 0;
  return () => random.of(sizes) + ++uploads;
}

interface Random {
  /** Returns an integer from 0 to `limit` - 1. */
  below(limit: number): number;
  of<Item>(items: readonly [Item, ...Item[]] | readonly Item[]): Item;
  /** Returns two different items. */
  two<Item>(items: readonly Item[]): [Item, Item];
}

/** Returns numbers that depend only on the seed ("mulberry32", Tommy Ettinger 2017, public domain). */
function randomOf(seed: number): Random {
  let state = seed >>> 0;
  const below = (limit: number) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
  const of = <Item>(items: readonly Item[]): Item => {
    const [item] = items.slice(below(items.length));
    if (item === undefined) throw new Error('There is nothing to choose from.');
    return item;
  };
  const two = <Item>(items: readonly Item[]): [Item, Item] => {
    const first = of(items);
    return [first, of(items.filter((item) => item !== first))];
  };
  return { below, of, two };
}
