import type { FastifyReply } from 'fastify';
import { requireUnlocked } from '../../dav/lockable-files.ts';
import type { PropertyChange, PropertyName } from '../../dav/properties.ts';
import { parseDate } from '../../model/dates.ts';
import { requirePreconditions } from '../preconditions.ts';
import { requireCredentials, requireIf } from './conditions.ts';
import type { DavContext } from './context.ts';
import { DavError } from './dav-error.ts';
import { XML_TYPE } from './errors.ts';
import { propstat } from './propfind.ts';
import { requireEntry } from './targets.ts';
import {
  childOf,
  DAV_NAMESPACE,
  elementsOf,
  emptyElement,
  escapeXml,
  isDav,
  textOf,
  toXml,
  type XmlElement,
} from './xml.ts';
import { parseXml } from './xml-parser.ts';

/** The namespace of the properties of Windows (MS-WDVME). */
const MICROSOFT_NAMESPACE = 'urn:schemas-microsoft-com:';

/** The times that Windows sets after each write. It reports an error if they are refused, so that stores without times accept them. */
const WINDOWS_MODIFIED = 'Win32LastModifiedTime';
const WINDOWS_TIMES: readonly string[] = [WINDOWS_MODIFIED, 'Win32LastAccessTime'];

/** The modification time: as RFC 4918 calls it, and as Nextcloud and rclone set it, in Unix seconds. */
const MODIFIED_PROPERTIES: readonly string[] = ['getlastmodified', 'lastmodified'];

/** PROPPATCH (RFC 4918, section 9.2): sets and removes properties of a file or folder, all or none. */
export async function proppatch(context: DavContext): Promise<FastifyReply> {
  const { files, target, reply, environment, holder } = context;
  requireCredentials(context, 'set properties');
  context.requireWritable();
  const changes = parseBody(await context.readBody());
  const entry = await requireEntry(files, target);
  await requireIf(context);
  requirePreconditions(context.request.headers, entry);
  const href = escapeXml(environment.urls.hrefOf(entry.path));
  const setsTimes = entry.kind === 'file' && environment.dav.setsTimes && files.canManage(entry.path);
  const isTime = (change: TimedChange) => setsTimes && change.modified !== undefined;
  const refused = changes.filter((change) => change.namespace === DAV_NAMESPACE && !isTime(change));
  if (refused.length > 0) {
    const others = changes.filter((change) => !refused.includes(change));
    const failed = propstat(namesOf(refused), 'HTTP/1.1 403 Forbidden', '<D:cannot-modify-protected-property/>');
    const skipped = others.length === 0 ? '' : propstat(namesOf(others), 'HTTP/1.1 424 Failed Dependency');
    return sendMultistatus(reply, href, failed + skipped);
  }
  await files.setProperties(entry.path, async () => {
    const { locks, properties } = environment.dav;
    await requireUnlocked(locks, { path: entry.path, isMember: false, isTree: false }, context);
    await properties.change(entry.path, changes.filter(isStored), holder.user);
    const modified = changes.findLast(isTime)?.modified;
    if (entry.kind === 'file' && modified && !isSameSecond(modified, entry.modified))
      await files.setModified(entry.path, modified);
  });
  if (context.isMinimal) return reply.header('preference-applied', 'return=minimal').code(204).send();
  return sendMultistatus(reply, href, propstat(namesOf(changes), 'HTTP/1.1 200 OK'));
}

const isStored = ({ namespace, name }: PropertyName) =>
  namespace !== DAV_NAMESPACE && !(namespace === MICROSOFT_NAMESPACE && WINDOWS_TIMES.includes(name));

/** A time of another fraction of the second would only change the ETag: properties have whole seconds. */
const isSameSecond = (time: Date, present: Date | null) =>
  present !== null && Math.floor(time.getTime() / 1000) === Math.floor(present.getTime() / 1000);

/** A change of a property. `modified`: the modification time that it sets, if it is a valid one. */
interface TimedChange extends PropertyChange {
  readonly modified: Date | undefined;
}

/** Returns the changes in the order of the document. Throws 400 for another document. */
function parseBody(body: Buffer): TimedChange[] {
  if (body.length === 0) throw new DavError(400, 'The body is empty. Send a DAV:propertyupdate element.');
  const root = parseXml(body);
  if (!isDav(root, 'propertyupdate')) throw new DavError(400, 'The body is not a DAV:propertyupdate element.');
  const changes: TimedChange[] = [];
  for (const step of elementsOf(root)) {
    const isSet = isDav(step, 'set');
    const properties = isSet || isDav(step, 'remove') ? childOf(step, 'prop') : undefined;
    for (const property of properties ? elementsOf(properties) : []) changes.push(changeOf(property, isSet));
  }
  if (changes.length === 0) throw new DavError(400, 'The body sets and removes no property.');
  return changes;
}

function changeOf(property: XmlElement, isSet: boolean): TimedChange {
  const { namespace, name } = property;
  const isModified =
    (namespace === DAV_NAMESPACE && MODIFIED_PROPERTIES.includes(name)) ||
    (namespace === MICROSOFT_NAMESPACE && name === WINDOWS_MODIFIED);
  const modified = isSet && isModified ? parseTime(textOf(property).trim()) : undefined;
  return { namespace, name, xml: isSet ? toXml(property) : undefined, modified };
}

/** Parses an HTTP date, as Windows and Cyberduck send it, or Unix seconds. */
function parseTime(text: string): Date | undefined {
  return /^\d{1,11}$/.test(text) ? new Date(Number(text) * 1000) : parseDate(text);
}

/** Returns the elements of the properties, each once. */
const namesOf = (names: readonly PropertyName[]): string => [...new Set(names.map(emptyElement))].join('');

function sendMultistatus(reply: FastifyReply, href: string, propstats: string): FastifyReply {
  const response = `<D:response><D:href>${href}</D:href>${propstats}</D:response>`;
  const document = `<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:">\n${response}</D:multistatus>\n`;
  return reply.code(207).type(XML_TYPE).send(document);
}
