import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import { covers, type Lock } from '../../dav/lock.ts';
import type { Property, PropertyName } from '../../dav/properties.ts';
import { isStoreError } from '../../model/error.ts';
import { encodePath, type FolderPath, ROOT } from '../../model/path.ts';
import type { Entry, Listing, Space } from '../../model/store.ts';
import { requireCredentials, requireIf } from './conditions.ts';
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
import { childOf, DAV_NAMESPACE, elementsOf, emptyElement, escapeXml, isDav, type XmlElement } from './xml.ts';
import { parseXml } from './xml-parser.ts';

/** The properties that a client asks for. */
type Wanted =
  | { readonly kind: 'all'; readonly include: readonly PropertyName[] }
  | { readonly kind: 'names' }
  | { readonly kind: 'some'; readonly names: readonly PropertyName[] };

/** Maximum number of properties that a client can name in a request. */
const MAX_NAMES = 200;

/** Maximum characters of their elements, which the response repeats for each file that lacks them. */
const MAX_NAMES_LENGTH = 8 * 1024;

/**
 * Maximum characters of these elements for all entries of a page: 2 KiB for each of 1,000 entries. A folder with several pages
 * counts as a full page.
 */
const MAX_REPEATED_LENGTH = 2 * 1024 * 1024;
const PAGE_ENTRIES = 1000;

/** Maximum characters of the owners of inherited locks, which the response repeats for each file. */
const MAX_REPEATED_OWNERS = 256;

/** Characters of a response that are written at once, at least. */
const CHUNK_LENGTH = 256 * 1024;

/** Maximum bytes of a document that is sent as a whole: a page of 1,000 files usually has 1 MB. */
const MAX_JOINED_BYTES = 2 * 1024 * 1024;

/** Number of files and folders whose properties are read at once: each can have 256 KiB of them. */
const PROPERTIES_BATCH = 50;

const ALL: Wanted = { kind: 'all', include: [] };

/**
 * PROPFIND (RFC 4918, section 9.1): lists a folder, or describes a file or folder. Streams the response page by page. A response
 * of one page is sent at once, with its length.
 */
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
  requireCredentials(context, 'list');
  const wanted = parseBody(await context.readBody());
  const first = await findFirst(context, depth);
  // Other conditions only apply to methods that select a representation (RFC 9110, section 13.2.1): iOS adds If-None-Match by itself.
  await requireIf(context);
  if (!context.isMinimal) requireFewRepeated(wanted, first.page);
  const space = asksForSpace(wanted) && files.canList(ROOT) ? await files.space() : undefined;
  const writer = new ResponseWriter(context, wanted, space);
  const isWithoutRoot = depth === '1' && context.prefers('depth-noroot');
  reply.code(207).type(XML_TYPE);
  if (context.isMinimal) reply.header('preference-applied', 'return=minimal');
  const document = writer.write(first, { isWithoutRoot });
  return reply.send(
    first.page?.cursor === undefined ? await joinedIfSmall(document) : Readable.from(document, STREAMED),
  );
}

const STREAMED = { objectMode: false } as const;

/** Returns a document as one buffer, which costs less than a stream. A larger one is a stream, which slow clients don't keep in memory. */
async function joinedIfSmall(document: AsyncGenerator<Buffer>): Promise<Buffer | Readable> {
  const parts: Buffer[] = [];
  let size = 0;
  while (size <= MAX_JOINED_BYTES) {
    const { done, value } = await document.next();
    if (done) return Buffer.concat(parts);
    parts.push(value);
    size += value.length;
  }
  const all = async function* () {
    yield* parts;
    yield* document;
  };
  return Readable.from(all(), STREAMED);
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

function listPage(
  { files, signal, environment, request }: DavContext,
  folder: FolderPath,
  cursor?: string,
): Promise<Listing> {
  return environment.limitListing(
    request.ip,
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
  if (some) return { kind: 'some', names: namesIn(some) };
  if (!all) throw new DavError(400, 'The body has none of allprop, propname and prop.');
  const include = childOf(root, 'include');
  return { kind: 'all', include: include ? namesIn(include) : [] };
}

/** Returns the names of the properties in an element, each once. Throws 400 for too many, because each file repeats them. */
function namesIn(element: XmlElement): readonly PropertyName[] {
  const names = new Map(
    elementsOf(element).map(({ namespace, name }) => [`${name} ${namespace}`, { namespace, name }]),
  );
  if (names.size > MAX_NAMES)
    throw new DavError(400, `The body asks for more than ${MAX_NAMES} properties. Send several requests.`);
  const found = [...names.values()];
  const length = found.reduce((sum, name) => sum + emptyElement(name).length, 0);
  if (length <= MAX_NAMES_LENGTH) return found;
  const message = `The names of the properties have more than ${MAX_NAMES_LENGTH} characters. Send several requests.`;
  throw new DavError(400, message);
}

/**
 * Throws 403 if the elements of properties that no file has would make up most of a response. It would be incomplete without them
 * (RFC 4918, section 9.1).
 */
function requireFewRepeated(wanted: Wanted, page: Listing | undefined): void {
  if (wanted.kind !== 'some' || !page) return;
  const length = wanted.names.reduce((sum, name) => sum + (isLive(name) ? 0 : emptyElement(name).length), 0);
  const entries = page.cursor === undefined ? page.entries.length : PAGE_ENTRIES;
  if (length * entries <= MAX_REPEATED_LENGTH) return;
  throw new DavError(
    403,
    `The response would repeat ${length} characters of property names for each entry of the folder. Ask for fewer properties, or send "Prefer: return=minimal".`,
    '<D:number-of-matches-within-limits/>',
  );
}

const isLive = ({ namespace, name }: PropertyName): boolean =>
  namespace === DAV_NAMESPACE && ALL_PROPERTIES.some((live) => live === name);

/** Returns the locks of a folder for the entries in it. Long owners are omitted: PROPFIND of the folder itself has them. */
function inherited(locks: readonly Lock[]): readonly Lock[] {
  const length = locks.reduce((sum, { owner = '' }) => sum + owner.length, 0);
  return length <= MAX_REPEATED_OWNERS ? locks : locks.map((lock) => ({ ...lock, owner: undefined }));
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
  readonly #isMinimal: boolean;
  /** The properties to return: the readers of live ones, and the names of all others. */
  readonly #columns: readonly Column[];

  constructor(context: DavContext, wanted: Wanted, space: Space | undefined) {
    this.#context = context;
    this.#wanted = wanted;
    this.#space = space;
    const live = new LiveProperties(context.environment.urls);
    this.#isMinimal = context.isMinimal;
    const all = ALL_PROPERTIES.map((name) => ({ namespace: DAV_NAMESPACE, name }));
    const names = wanted.kind === 'some' ? wanted.names : wanted.kind === 'all' ? [...all, ...wanted.include] : all;
    this.#columns = names.map((name) => ({ name, read: live.find(name), element: emptyElement(name) }));
  }

  async *write({ entry, page }: First, { isWithoutRoot }: { isWithoutRoot: boolean }): AsyncGenerator<Buffer> {
    const { dav } = this.#context.environment;
    const found = page ? await dav.locks.inFolder(entry.path as FolderPath) : await dav.locks.covering(entry.path);
    const locks = found.filter((lock) => this.#context.canSeeLock(lock));
    yield BEGIN;
    if (!isWithoutRoot) {
      const properties = await dav.properties.of(entry.path);
      const own = locks.filter((lock) => covers(lock, entry.path));
      const href = escapeXml(this.#context.environment.urls.hrefOf(entry.path));
      const described = {
        entry: await this.#exact(entry),
        properties,
        locks: own,
        canLock: this.#context.canLock(entry.path),
        space: this.#space,
      };
      yield Buffer.from(this.#response(this.#readable(described), href));
    }
    if (page) yield* this.#children(entry.path as FolderPath, page, locks);
    yield END;
  }

  async *#children(folder: FolderPath, first: Listing, locks: readonly Lock[]): AsyncGenerator<Buffer> {
    const { environment } = this.#context;
    const { properties } = environment.dav;
    const href = escapeXml(environment.urls.hrefOf(folder));
    const hasProperties = await properties.existIn(folder);
    const isPlain = !hasProperties && locks.length === 0 && this.#space === undefined;
    // The pages of a large folder would only displace each other.
    const isSingle = first.cursor === undefined;
    const canLockAll = this.#context.canLockWithin(folder);
    const isRepeated = isPlain && isSingle && canLockAll !== undefined;
    // What the elements depend on, except their entries.
    const key = isRepeated ? JSON.stringify([href, this.#wanted, this.#isMinimal, canLockAll]) : undefined;
    const deep = inherited(locks.filter((lock) => lock.isDeep && covers(lock, folder)));
    const locksOf = Map.groupBy(locks, ({ path }) => path);
    for (let page: Listing | undefined = first; page; ) {
      const { entries, cursor }: Listing = page;
      const repeated = key === undefined ? undefined : findRendered(entries, key);
      if (repeated) yield repeated;
      else {
        const chunks: Buffer[] = [];
        let size = 0;
        for (const batch of hasProperties ? batches(entries, PROPERTIES_BATCH) : [entries]) {
          const found = hasProperties ? await properties.ofEach(batch.map(({ path }) => path)) : NO_PROPERTIES;
          for await (const chunk of this.#elements(batch, { folder, href, found, deep, locksOf, canLockAll })) {
            size += chunk.length;
            if (key !== undefined && size <= MAX_RENDERED_BYTES) chunks.push(chunk);
            yield chunk;
          }
        }
        if (key !== undefined && size > 0 && size <= MAX_RENDERED_BYTES && this.#isRepeatable(entries)) {
          rendered.set(entries, { key, bytes: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks) });
        }
      }
      page = cursor === undefined ? undefined : await listPage(this.#context, folder, cursor);
    }
  }

  /** Yields the elements of entries of a folder, in chunks: an element with many locks or properties is long. */
  async *#elements(
    entries: readonly Entry[],
    { folder, href, found, deep, locksOf, canLockAll }: PageContext,
  ): AsyncGenerator<Buffer> {
    const { files } = this.#context;
    let text = '';
    for (const entry of entries) {
      const own = locksOf.size === 0 ? undefined : locksOf.get(entry.path);
      const described = {
        // Without a promise where possible: a page has up to 1,000 entries.
        entry: entry.kind === 'folder' || files.isSizeCertain(entry) ? entry : await this.#exact(entry),
        properties: found.size === 0 ? NONE : (found.get(entry.path) ?? NONE),
        locks: own ? [...deep, ...own] : deep,
        canLock: canLockAll ?? this.#context.canLock(entry.path),
        space: this.#space,
      };
      text += this.#response(this.#readable(described), href + encodePath(entry.path.slice(folder.length)));
      if (text.length < CHUNK_LENGTH) continue;
      yield Buffer.from(text);
      text = '';
    }
    if (text !== '') yield Buffer.from(text);
  }

  /** Returns the entry without locks and properties if it is a folder that only leads to folders that the user can read. */
  #readable(described: DescribedEntry): DescribedEntry {
    const { entry, locks, properties } = described;
    if ((locks.length === 0 && properties.length === 0) || this.#context.files.canRead(entry.path)) return described;
    return { ...described, locks: [], properties: [] };
  }

  /** Returns whether these entries have the same elements in another response: nothing in them depends on the present. */
  #isRepeatable(entries: readonly Entry[]): boolean {
    const { files } = this.#context;
    const now = Date.now();
    return entries.every((entry) => {
      if (entry.kind === 'folder') return true;
      return files.isSizeCertain(entry) && (entry.modified === null || entry.modified.getTime() <= now);
    });
  }

  /** Returns the entry with its certain size, which some stores know only for a single file. */
  async #exact(entry: Entry): Promise<Entry> {
    const { files } = this.#context;
    if (entry.kind === 'folder' || files.isSizeCertain(entry)) return entry;
    return (await findEntry(files, { file: entry.path, folder: ROOT })) ?? entry;
  }

  /** Returns the element of one file or folder. `href`: its URL path, escaped. */
  #response(described: DescribedEntry, href: string): string {
    const propstats = this.#wanted.kind === 'names' ? this.#names(described) : this.#values(described);
    return `\n<D:response><D:href>${href}</D:href>${propstats}</D:response>`;
  }

  #names(described: DescribedEntry): string {
    const live = this.#columns.map(({ read, element }) => (read?.(described) === undefined ? '' : element));
    return propstat([...live, ...described.properties.map(emptyElement)].join(''), OK);
  }

  #values(described: DescribedEntry): string {
    let found = '';
    let missing = '';
    for (const { name, read, element } of this.#columns) {
      const value = read ? read(described) : deadProperty(described, name);
      if (value !== undefined) found += value;
      else if (this.#wanted.kind === 'some') missing += element;
    }
    if (this.#wanted.kind === 'all') {
      for (const { xml } of described.properties) found += xml;
    }
    // A response has at least one propstat (RFC 4918, section 14.24).
    const isListed = missing !== '' && !this.#isMinimal;
    return `${found !== '' || !isListed ? propstat(found, OK) : ''}${isListed ? propstat(missing, NOT_FOUND) : ''}`;
  }
}

/** A property that a response has for each file and folder. */
interface Column {
  readonly name: PropertyName;
  /** Undefined for a property that clients set. */
  readonly read: PropertyReader | undefined;
  /** The property without a value. */
  readonly element: string;
}

/** What the elements of a page depend on. */
interface PageContext {
  readonly folder: FolderPath;
  /** The URL path of the folder, escaped. */
  readonly href: string;
  readonly found: ReadonlyMap<string, readonly Property[]>;
  readonly deep: readonly Lock[];
  readonly locksOf: ReadonlyMap<string, readonly Lock[]>;
  /** See `DavContext.canLockWithin`. */
  readonly canLockAll: boolean | undefined;
}

/**
 * The elements of pages without locks and properties, which the disk returns as the same array while nothing in the page changes.
 * Clients list a folder again and again. This saves a third of the CPU time of a response with 1,000 entries.
 */
const rendered = new WeakMap<readonly Entry[], { readonly key: string; readonly bytes: Buffer }>();

/** Maximum bytes of the elements of a page that are kept. */
const MAX_RENDERED_BYTES = 4 * 1024 * 1024;

function* batches<Item>(items: readonly Item[], size: number): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += size) yield items.slice(start, start + size);
}

function findRendered(entries: readonly Entry[], key: string): Buffer | undefined {
  const found = rendered.get(entries);
  return found?.key === key ? found.bytes : undefined;
}

const BEGIN = Buffer.from('<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:">');
const END = Buffer.from('</D:multistatus>\n');

const NONE: readonly Property[] = [];
const NO_PROPERTIES: ReadonlyMap<string, readonly Property[]> = new Map();

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
