import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { covers, type Lock } from '../../dav/lock.ts';
import type { Property, PropertyName } from '../../dav/properties.ts';
import { isStoreError } from '../../model/error.ts';
import { type FolderPath, ROOT } from '../../model/path.ts';
import type { Entry, Listing, Space } from '../../model/store.ts';
import { clientSignal } from '../long-operations.ts';
import type { DavContext } from './context.ts';
import { DavError } from './dav-error.ts';
import { XML_TYPE } from './errors.ts';
import {
  ALL_PROPERTIES,
  type DescribedEntry,
  LiveProperties,
  needsSpace,
  type PropertyReader,
} from './live-properties.ts';
import { findEntry, requireEntry } from './targets.ts';
import { childOf, DAV_NAMESPACE, elementsOf, emptyElement, escapeXml, isDav, parseXml } from './xml.ts';

/** The properties that a client asks for. */
type Wanted =
  | { readonly kind: 'all'; readonly include: readonly PropertyName[] }
  | { readonly kind: 'names' }
  | { readonly kind: 'some'; readonly names: readonly PropertyName[] };

const ALL: Wanted = { kind: 'all', include: [] };

/** PROPFIND (RFC 4918, section 9.1): lists a folder, or describes a file or folder. Streams the response page by page. */
export async function propfind(context: DavContext): Promise<FastifyReply> {
  const { reply, files } = context;
  const depth = context.depth('infinity', '0', '1');
  if (depth === 'infinity') {
    throw new DavError(
      403,
      'PROPFIND with Depth: infinity is not supported. Send Depth: 1 for each folder.',
      '<D:propfind-finite-depth/>',
    );
  }
  const wanted = parseBody(await context.readBody());
  const first = await findFirst(context, depth);
  const space = asksForSpace(wanted) && files.canList(ROOT) ? await files.space() : undefined;
  const writer = new ResponseWriter(context, wanted, space);
  const isWithoutRoot = depth === '1' && context.prefers('depth-noroot');
  reply.code(207).type(XML_TYPE);
  if (context.isMinimal) reply.header('preference-applied', 'return=minimal');
  return reply.send(Readable.from(writer.write(first, { isWithoutRoot }), { objectMode: false }));
}

/** What a response begins with: the entry itself and, with `Depth: 1`, the first page of its folder. */
interface First {
  readonly entry: Entry;
  readonly page: Listing | undefined;
}

/** Finds the target. A folder with `Depth: 1` costs one listing. */
async function findFirst(context: DavContext, depth: '0' | '1'): Promise<First> {
  const { files, target } = context;
  const { folder, file } = target;
  if (depth === '0') return { entry: await requireEntry(files, target), page: undefined };
  try {
    return { entry: { kind: 'folder', path: folder }, page: await listPage(context, folder) };
  } catch (error) {
    const isMissing = isStoreError(error, 'not-found') || isStoreError(error, 'wrong-kind');
    if (!isMissing || file === undefined) throw error;
  }
  return { entry: await requireEntry(files, target), page: undefined };
}

function listPage({ files, reply, environment }: DavContext, folder: FolderPath, cursor?: string): Promise<Listing> {
  const signal = clientSignal(reply);
  return environment.limitListing(
    () => files.list(folder, { signal, ...(cursor !== undefined && { cursor }) }),
    signal,
  );
}

/** Returns the properties that a body asks for. An empty body asks for all. Throws 400 for another document. */
function parseBody(body: Buffer): Wanted {
  if (body.length === 0) return ALL;
  const root = parseXml(body);
  if (!isDav(root, 'propfind')) throw new DavError(400, 'The body is not a DAV:propfind element.');
  const [all, names, some] = ['allprop', 'propname', 'prop'].map((name) => childOf(root, name));
  const count = [all, names, some].filter((each) => each !== undefined).length;
  if (count > 1) throw new DavError(400, 'The body has more than one of allprop, propname and prop.');
  if (names) return { kind: 'names' };
  if (some) return { kind: 'some', names: elementsOf(some) };
  if (!all) throw new DavError(400, 'The body has none of allprop, propname and prop.');
  const include = childOf(root, 'include');
  return { kind: 'all', include: include ? elementsOf(include) : [] };
}

function asksForSpace(wanted: Wanted): boolean {
  if (wanted.kind === 'names') return false;
  return (wanted.kind === 'all' ? wanted.include : wanted.names).some(needsSpace);
}

/** Writes the multistatus document of a PROPFIND. */
class ResponseWriter {
  readonly #context: DavContext;
  readonly #wanted: Wanted;
  readonly #space: Space | undefined;
  readonly #live: LiveProperties;
  readonly #isMinimal: boolean;
  /** The readers of the live properties to return, and the names of all others. */
  readonly #readers: readonly (readonly [PropertyName, PropertyReader | undefined])[];

  constructor(context: DavContext, wanted: Wanted, space: Space | undefined) {
    this.#context = context;
    this.#wanted = wanted;
    this.#space = space;
    this.#live = new LiveProperties(context.environment.urls);
    this.#isMinimal = context.isMinimal;
    const all = ALL_PROPERTIES.map((name) => ({ namespace: DAV_NAMESPACE, name }));
    const names = wanted.kind === 'some' ? wanted.names : wanted.kind === 'all' ? [...all, ...wanted.include] : all;
    this.#readers = names.map((name) => [name, this.#live.find(name)]);
  }

  async *write({ entry, page }: First, { isWithoutRoot }: { isWithoutRoot: boolean }): AsyncGenerator<string> {
    const { dav } = this.#context.environment;
    const locks = page ? await dav.locks.inFolder(entry.path as FolderPath) : await dav.locks.covering(entry.path);
    yield '<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:">';
    if (!isWithoutRoot) {
      const properties = await dav.properties.of(entry.path);
      const own = locks.filter((lock) => covers(lock, entry.path));
      yield this.#response({ entry: await this.#exact(entry), properties, locks: own, space: this.#space });
    }
    if (page) yield* this.#children(entry.path as FolderPath, page, locks);
    yield '</D:multistatus>\n';
  }

  async *#children(folder: FolderPath, first: Listing, locks: readonly Lock[]): AsyncGenerator<string> {
    const { properties } = this.#context.environment.dav;
    const hasProperties = await properties.existIn(folder);
    const deep = locks.filter((lock) => lock.isDeep && covers(lock, folder));
    const locksOf = Map.groupBy(locks, ({ path }) => path);
    for (let page: Listing | undefined = first; page; ) {
      const found: ReadonlyMap<string, readonly Property[]> = hasProperties
        ? await properties.ofEach(page.entries.map(({ path }) => path))
        : new Map();
      let text = '';
      for (const entry of page.entries) {
        const own = locksOf.get(entry.path);
        text += this.#response({
          entry: await this.#exact(entry),
          properties: found.get(entry.path) ?? NONE,
          locks: own ? [...deep, ...own] : deep,
          space: this.#space,
        });
      }
      if (text !== '') yield text;
      page = page.cursor === undefined ? undefined : await listPage(this.#context, folder, page.cursor);
    }
  }

  /** Returns the entry with its certain size, which some stores know only for a single file. */
  async #exact(entry: Entry): Promise<Entry> {
    const { files } = this.#context;
    if (entry.kind === 'folder' || files.isSizeCertain(entry)) return entry;
    return (await findEntry(files, { file: entry.path, folder: ROOT })) ?? entry;
  }

  #response(described: DescribedEntry): string {
    const href = escapeXml(this.#context.environment.urls.hrefOf(described.entry.path));
    const propstats = this.#wanted.kind === 'names' ? this.#names(described) : this.#values(described);
    return `\n<D:response><D:href>${href}</D:href>${propstats}</D:response>`;
  }

  #names(described: DescribedEntry): string {
    const live = this.#readers.map(([name, read]) => (read?.(described) === undefined ? '' : emptyElement(name)));
    return propstat([...live, ...described.properties.map(emptyElement)].join(''), OK);
  }

  #values(described: DescribedEntry): string {
    let found = '';
    let missing = '';
    for (const [name, read] of this.#readers) {
      const value = read ? read(described) : deadProperty(described, name);
      if (value !== undefined) found += value;
      else if (this.#wanted.kind === 'some') missing += emptyElement(name);
    }
    if (this.#wanted.kind === 'all') {
      for (const { xml } of described.properties) found += xml;
    }
    // A response has at least one propstat (RFC 4918, section 14.24).
    const isListed = missing !== '' && !this.#isMinimal;
    return `${found !== '' || !isListed ? propstat(found, OK) : ''}${isListed ? propstat(missing, NOT_FOUND) : ''}`;
  }
}

const NONE: readonly Property[] = [];

function deadProperty({ properties }: DescribedEntry, { namespace, name }: PropertyName): string | undefined {
  return properties.find((property) => property.name === name && property.namespace === namespace)?.xml;
}

const OK = 'HTTP/1.1 200 OK';
const NOT_FOUND = 'HTTP/1.1 404 Not Found';

/** Returns the properties that have a status. */
export function propstat(properties: string, status: string, condition = ''): string {
  const error = condition === '' ? '' : `<D:error>${condition}</D:error>`;
  return `<D:propstat><D:prop>${properties}</D:prop><D:status>${status}</D:status>${error}</D:propstat>`;
}
