import type { Lock } from '../../dav/lock.ts';
import type { Property, PropertyName } from '../../dav/properties.ts';
import { nameOf } from '../../model/path.ts';
import type { Entry, Space } from '../../model/store.ts';
import { formatHttpDate } from '../http-date.ts';
import { lastModified, quoteEtag } from '../preconditions.ts';
import { lockTokenOf } from './if-header.ts';
import type { DavUrls } from './targets.ts';
import { DAV_NAMESPACE, escapeText, escapeXml } from './xml.ts';

/** A file or folder with what its properties are computed from. */
export interface DescribedEntry {
  readonly entry: Entry;
  /** The properties that clients set. */
  readonly properties: readonly Property[];
  /** The locks that cover it. */
  readonly locks: readonly Lock[];
  /** Whether LOCK may lock it. */
  readonly canLock: boolean;
  /** The space of the volume, if it was asked for and is known. */
  readonly space: Space | undefined;
}

/** Returns the XML element of a property; undefined if the file or folder does not have it. */
export type PropertyReader = (described: DescribedEntry) => string | undefined;

/** The properties of RFC 4918, section 15, and of RFC 4331 that the service computes. */
export class LiveProperties {
  readonly #urls: DavUrls;
  readonly #readers: ReadonlyMap<string, PropertyReader>;

  constructor(urls: DavUrls) {
    this.#urls = urls;
    this.#readers = new Map<string, PropertyReader>([
      ['resourcetype', ({ entry }) => (entry.kind === 'folder' ? FOLDER_TYPE : '<D:resourcetype/>')],
      ['displayname', ({ entry }) => `<D:displayname>${escapeText(nameOf(entry.path))}</D:displayname>`],
      [
        'getcontentlength',
        ({ entry }) => (entry.kind === 'file' ? element('getcontentlength', String(entry.size)) : undefined),
      ],
      [
        'getcontenttype',
        ({ entry }) => (entry.kind === 'file' ? element('getcontenttype', escapeText(entry.type)) : undefined),
      ],
      [
        'getetag',
        ({ entry }) => (entry.kind === 'file' ? element('getetag', escapeText(quoteEtag(entry.etag))) : undefined),
      ],
      ['getlastmodified', ({ entry }) => modifiedOf(entry)],
      ['supportedlock', ({ canLock }) => (canLock ? SUPPORTED_LOCKS : '<D:supportedlock/>')],
      ['lockdiscovery', ({ locks }) => this.lockDiscovery(locks)],
      ['quota-available-bytes', ({ space }) => space && element('quota-available-bytes', String(space.available))],
      ['quota-used-bytes', ({ space }) => space && element('quota-used-bytes', String(space.used))],
    ]);
  }

  /** Returns the reader of a live property; undefined if there is no such property. */
  find({ namespace, name }: PropertyName): PropertyReader | undefined {
    return namespace === DAV_NAMESPACE ? this.#readers.get(name) : undefined;
  }

  /** Returns the value of `DAV:lockdiscovery`. */
  lockDiscovery(locks: readonly Lock[]): string {
    if (locks.length === 0) return '<D:lockdiscovery/>';
    return `<D:lockdiscovery>${locks.map((lock) => this.#activeLock(lock)).join('')}</D:lockdiscovery>`;
  }

  #activeLock({ scope, isDeep, owner = '', remainingSeconds, token, path }: Lock): string {
    return (
      `<D:activelock><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype>` +
      `<D:depth>${isDeep ? 'infinity' : '0'}</D:depth>${owner}<D:timeout>Second-${remainingSeconds}</D:timeout>` +
      `<D:locktoken><D:href>${lockTokenOf(token)}</D:href></D:locktoken>` +
      `<D:lockroot><D:href>${escapeXml(this.#urls.hrefOf(path))}</D:href></D:lockroot></D:activelock>`
    );
  }
}

/** The names that `allprop` and `propname` return, for files and folders that have them. Quotas are only for clients that ask (RFC 4331, section 3). */
export const ALL_PROPERTIES = [
  'resourcetype',
  'displayname',
  'getcontentlength',
  'getcontenttype',
  'getetag',
  'getlastmodified',
  'supportedlock',
  'lockdiscovery',
] as const;

/** The names of the properties of a volume. */
const SPACE_PROPERTIES: readonly string[] = ['quota-available-bytes', 'quota-used-bytes'];

/** Returns whether a property needs the space of the volume. */
export const needsSpace = ({ namespace, name }: PropertyName): boolean =>
  namespace === DAV_NAMESPACE && SPACE_PROPERTIES.includes(name);

const FOLDER_TYPE = '<D:resourcetype><D:collection/></D:resourcetype>';

const SUPPORTED_LOCKS =
  '<D:supportedlock>' +
  ['exclusive', 'shared']
    .map(
      (scope) =>
        `<D:lockentry><D:lockscope><D:${scope}/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>`,
    )
    .join('') +
  '</D:supportedlock>';

const element = (name: string, value: string) => `<D:${name}>${value}</D:${name}>`;

function modifiedOf(entry: Entry): string | undefined {
  if (entry.kind === 'folder' || entry.modified === null) return undefined;
  const time = entry.modified.getTime();
  // Only a time in the future needs another one.
  const sent = time <= Date.now() ? time : (lastModified(entry)?.getTime() ?? time);
  return element('getlastmodified', formatHttpDate(sent));
}
