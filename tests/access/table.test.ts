import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { type Grant, PERMISSIONS, type Permission, subjectKey } from '../../src/access/policy.ts';
import type { FolderPath } from '../../src/model/path.ts';
import type { Store } from '../../src/model/store.ts';
import { memory } from '../contract/backend.ts';
import { type HttpResponse, send } from '../http/client.ts';
import { startService, type TestService } from '../http/service.ts';
import { parseArchive } from '../zip/parse-archive.ts';
import { reportChanges } from './change-reporting-store.ts';
import { AUTH_METHODS, type AuthMethod, type Client, openTestAccess, type TestAccess } from './clients.ts';
import { type DocumentedRow, type Need, readDocumentedNeeds } from './documented-needs.ts';
import { REQUESTS, type TableRequest } from './requests.ts';
import { allAt, type Situation, situationsAt } from './situations.ts';
import { GONE_FILE, plantStore, SOURCE, type TestTree } from './tree.ts';

const ROWS = await readDocumentedNeeds();

/** One row for each kind of request that reads, adds, replaces, moves, removes or restores. */
const REPRESENTATIVE_ROWS: readonly string[] = [
  'List a folder',
  'Fetch a file',
  'Upload over a file',
  'Delete a folder',
  'Move a file over another',
  'Restore an item',
  'Restore a version over a file',
];

/**
 * The grants don't depend on the authentication method, so a session is tested with every request and in every situation,
 * an anonymous client with each row, and the other methods with each kind of request.
 */
const testedRows = (method: AuthMethod) =>
  ROWS.filter(({ title }) => REQUESTS[title]).filter(
    ({ title }) => method === 'a session' || method === 'no credentials' || REPRESENTATIVE_ROWS.includes(title),
  );

// Every request, against the permission table in the docs. The permissions don't depend on the store.
describe('Permissions of requests', () => {
  let access: TestAccess;
  let fixture: Fixture;
  /** The same service on an empty store. */
  let empty: TestService;
  let clients: readonly Client[];

  before(async () => {
    access = await openTestAccess();
    fixture = await startFixture(access);
    empty = await startService(memory, { access: access.control, publicUrl: access.publicUrl, hasJobs: true });
    clients = await access.clients();
  });
  after(async () => {
    CONNECTIONS.destroy();
    await fixture.service.stop();
    await empty.stop();
    await access.close();
  });

  for (const method of AUTH_METHODS) {
    describe(`with ${method}`, () => {
      for (const row of testedRows(method)) {
        it(`match the documented row "${row.title}"`, async () => {
          const client = clients.find((candidate) => candidate.method === method) ?? assert.fail(method);
          for (const cell of cellsOf(row, client)) {
            access.grant(cell.grants);
            await checkCell(cell, client, fixture, empty);
          }
        });
      }
    });
  }
});

/** A service whose store is restored after each change. */
interface Fixture {
  readonly service: TestService;
  readonly tree: TestTree;
  /** Returns the names of the store members that could have changed something and were called since the last call. */
  changes(): readonly string[];
}

async function startFixture({ control, port, publicUrl }: TestAccess): Promise<Fixture> {
  const calls: string[] = [];
  let bare: Store | undefined;
  const service = await startService(memory, {
    access: control,
    port,
    publicUrl,
    hasJobs: true,
    wrap(store) {
      bare = store;
      return reportChanges(store, (member) => calls.push(member));
    },
  });
  const tree = await plantStore(bare ?? assert.fail(), async (change) => service.changes?.recorder.record([change]));
  return { service, tree, changes: () => calls.splice(0) };
}

/** A request in a situation, and its outcome by the table. */
interface Cell {
  readonly name: string;
  readonly request: TableRequest;
  readonly situation: Situation;
  readonly grants: readonly Grant[];
  readonly row: DocumentedRow;
  readonly isAllowed: boolean;
  readonly place: Need['at'];
}

function cellsOf(row: DocumentedRow, { method: authMethod, subject }: Client): readonly Cell[] {
  const isThorough = authMethod === 'a session';
  const all = REQUESTS[row.title] ?? assert.fail(row.title);
  const situations = (folder: FolderPath, request: TableRequest) => {
    const { basic, usual, rare } = situationsAt(folder, subject);
    // The other requests of a row use the same functions.
    return isThorough && request === all[0] ? [...basic, ...usual, ...rare] : basic;
  };
  const requests = isThorough ? all : all.slice(0, 1);
  return requests.flatMap((request) => {
    const { method, path, source = SOURCE, destination } = request;
    const cellOf = (place: Need['at'], situation: Situation, others: readonly Grant[]): Cell => ({
      name: `${row.title}, ${method} ${path}, with ${authMethod}, with ${situation.name} at the ${place}`,
      request,
      situation,
      place,
      grants: [...situation.grants, ...others],
      row,
      isAllowed:
        row.needs.every(
          ({ at, right, throughout }) =>
            at !== place || (throughout ? situation.throughout : situation.rights).includes(right),
        ) &&
        (!row.isOfHistory || seesHistory(authMethod, place === 'source' ? situation.rights : PERMISSIONS)),
    });
    if (destination === undefined) return situations(source, request).map((each) => cellOf('source', each, []));
    return [
      ...situations(source, request).map((each) => cellOf('source', each, [allAt(destination, subject)])),
      ...situations(destination, request).map((each) => cellOf('destination', each, [allAt(source, subject)])),
    ];
  });
}

/** Returns whether a client with these rights sees the trash and versions. */
function seesHistory(authMethod: AuthMethod, rights: readonly Permission[]): boolean {
  const canChange = rights.includes('write') || rights.includes('manage');
  return authMethod !== 'no credentials' && rights.includes('read') && canChange;
}

async function checkCell(cell: Cell, client: Client, { service, tree, changes }: Fixture, empty: TestService) {
  const { name, situation, row, isAllowed } = cell;
  const { body } = cell.request;
  const request = {
    ...cell.request,
    path: tree.withIds(cell.request.path),
    ...(typeof body === 'string' && { body: tree.withIds(body) }),
  };
  const response = await sendAs(service, request, client);
  const checkEntries = CHECK_ENTRIES[row.title];
  // A user can follow the changes of every folder that they can list.
  const isTraversing = checkEntries !== undefined || row.title === 'Follow changes';
  const isShut = row.isOfHistory && client.method === 'no credentials';
  // Users who can list a folder get the part of the trash that they see.
  const isListed = situation.traversable ?? (row.title === 'List the trash' && situation.rights.includes('read'));
  if (isAllowed || (isTraversing && isListed && !isShut)) {
    assert.ok([200, 201].includes(response.status), `${name}: ${response.status} ${response.body.toString()}`);
    checkEntries?.(cell, response);
    const isChanging = row.needs.some(({ right }) => right !== 'read');
    assert.equal(changes().length > 0, isChanging, name);
    if (isChanging) assert.ok(!(await tree.restore()), name);
    return;
  }
  // The trash of a folder below can be emptied, and has no item here.
  if (row.title === 'Empty the trash' && situation.traversable?.length && !isShut) {
    assert.equal(JSON.parse(response.body.toString()).removed, 0, name);
    return;
  }
  const isInvisible = isInvisibleItem(cell, client);
  if (isInvisible) checkInvisible(cell, response);
  else {
    assert.equal(response.status, client.refusal, `${name}: ${response.body.toString()}`);
    checkRefusal(cell, client, response);
  }
  const attempts = changes();
  if (attempts.length > 0) assert.ok(await tree.restore(), name);
  // With the right to write alone, only the attempt to create the file shows that it exists.
  if (row.title.endsWith(' over a file') && situation.rights.includes('write')) return;
  assert.deepEqual(
    attempts.filter((member) => member !== 'stage'),
    [],
    name,
  );
  // Users who see an item may learn that it exists.
  const isVisibleItem = row.isOfItem && (cell.place === 'destination' || situation.rights.includes('read'));
  if (COMPARED.has(client.method) && !isVisibleItem)
    assert.deepEqual(comparable(await sendAs(empty, request, client)), comparable(response), name);
}

/** Checks the entries of successful responses, by the title of the row. */
const CHECK_ENTRIES: Readonly<Record<string, (cell: Cell, response: HttpResponse) => void>> = {
  'List a folder': checkListing,
  'Download a folder as an archive': checkArchive,
  'List the trash': ({ name, isAllowed }, { body }) => {
    const { entries } = JSON.parse(body.toString()) as { entries: { path: string }[] };
    const visible = isAllowed ? [GONE_FILE] : [];
    assert.deepEqual(
      entries.map(({ path }) => path),
      visible,
      name,
    );
  },
};

/** An archive has the files that the client may read, and the folders that a listing shows. */
function checkArchive({ name, request, situation, isAllowed }: Cell, { body }: HttpResponse): void {
  if (request.method === 'HEAD') return;
  const all = ['picture.png', 'sub/deep.txt', 'x.txt'].map((child) => SOURCE + child);
  const isHidden = (path: string) => situation.hidden.some((hidden) => path.startsWith(hidden));
  const isBelow = (path: string) => situation.traversable?.some((folder) => path.startsWith(folder));
  const names = parseArchive(body).map((entry) => entry.name);
  const expected = all.filter((path) => (isAllowed ? !isHidden(path) : isBelow(path)));
  const files = names.filter((path) => !path.endsWith('/'));
  assert.deepEqual(files.toSorted(), expected.map((path) => path.slice('top/'.length)).toSorted(), name);
}

/** Returns whether a request is for an item that the client can't see, although it can see other items. */
function isInvisibleItem({ row, grants, situation, place }: Cell, { subject, method }: Client): boolean {
  const seesAny = grants.some(
    ({ to, permissions }) => permissions.length > 0 && subjectKey(to) === subjectKey(subject),
  );
  const isSeen = row.isOfHistory ? seesHistory(method, situation.rights) : situation.rights.includes('read');
  const isShut = row.isOfHistory && method === 'no credentials';
  return row.isOfItem && place === 'source' && seesAny && !isSeen && !isShut;
}

/** The code and message for invisible items that are not in the trash. */
const INVISIBLE: Readonly<Record<string, readonly [code: string, message: RegExp]>> = {
  'Undo the upload of a new file': [
    'change-not-found',
    /^The change "[\w-]+" does not exist, or is no longer in the log\.$/,
  ],
};

/** The response for an invisible item is that for an item that does not exist. */
function checkInvisible({ name, row }: Cell, { status, body }: HttpResponse): void {
  assert.equal(status, 404, `${name}: ${body.toString()}`);
  const { error, ...others } = JSON.parse(body.toString());
  const [code, message] = INVISIBLE[row.title] ?? ['not-found', /^The trash has no item "[\w-]+"\.$/];
  assert.deepEqual(others, { success: false, code }, name);
  assert.match(error, message, name);
}

/** The authentication methods whose refusals are compared with those for missing files: one for each status. */
const COMPARED: ReadonlySet<AuthMethod> = new Set(['no credentials', 'a session']);

/** Reuses connections, because the table sends thousands of requests. */
const CONNECTIONS = new Agent({ keepAlive: true });

function sendAs(
  { port }: TestService,
  { path, headers, ...call }: TableRequest,
  client: Client,
): Promise<HttpResponse> {
  return send(port, path, { ...call, headers: { ...headers, ...client.headers }, agent: CONNECTIONS });
}

/** A listing has the entries that the client may read. Without the right to read, it has traversable folders only. */
function checkListing({ name, request, situation, isAllowed }: Cell, { body }: HttpResponse): void {
  if (request.method === 'HEAD') return;
  const all = ['picture.png', 'sub/', 'x.txt'].map((child) => SOURCE + child);
  const { entries, rights } = JSON.parse(body.toString()) as { entries: { path: string }[]; rights: string[] };
  assert.deepEqual(
    entries.map(({ path }) => path),
    isAllowed ? all.filter((path) => !situation.hidden.some((hidden) => hidden === path)) : situation.traversable,
    name,
  );
  assert.deepEqual(rights, situation.rights, name);
}

/** A refusal is an error envelope without any metadata of a file or folder. */
function checkRefusal({ name, request }: Cell, { refusal }: Client, { headers, body }: HttpResponse): void {
  for (const header of ['etag', 'last-modified', 'location', 'content-range', 'content-disposition']) {
    assert.equal(headers[header], undefined, name);
  }
  assert.equal(headers['www-authenticate'] !== undefined, refusal === 401, name);
  if (request.method === 'HEAD') return;
  const { error, ...others } = JSON.parse(body.toString());
  const code = refusal === 401 ? 'sign-in-required' : 'permission-denied';
  assert.deepEqual(others, { success: false, code }, name);
  assert.match(error, /^(?:Sign in to|You are signed in as) .+\.$/, name);
}

/** The response without the headers that differ between any two responses. */
function comparable({ status, headers, body }: HttpResponse): unknown {
  const { date: _, 'x-request-id': __, ...rest } = headers;
  return { status, headers: rest, body: body.toString() };
}
