import type { FastifyReply } from 'fastify';
import { requireUnlocked } from '../../dav/lockable-files.ts';
import type { PropertyChange, PropertyName } from '../../dav/properties.ts';
import { requirePreconditions } from '../preconditions.ts';
import { requireCredentials, requireIf } from './conditions.ts';
import type { DavContext } from './context.ts';
import { DavError } from './dav-error.ts';
import { XML_TYPE } from './errors.ts';
import { LiveProperties } from './live-properties.ts';
import { propstat } from './propfind.ts';
import { requireEntry } from './targets.ts';
import { childOf, DAV_NAMESPACE, elementsOf, emptyElement, escapeXml, isDav, toXml, type XmlElement } from './xml.ts';
import { parseXml } from './xml-parser.ts';

/** The namespace of the properties of Windows (MS-WDVME). */
const MICROSOFT_NAMESPACE = 'urn:schemas-microsoft-com:';

/**
 * The times that Windows sets after each write. They are accepted and not stored: `DAV:getlastmodified` is the time of the
 * content, and a stored time would be wrong after the next change by another client.
 */
const ACCEPTED_ONLY: readonly string[] = ['Win32LastModifiedTime', 'Win32LastAccessTime'];

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
  const live = new LiveProperties(environment.urls);
  const isProtected = (change: PropertyName) => live.find(change) !== undefined || change.namespace === DAV_NAMESPACE;
  const refused = changes.filter(isProtected);
  if (refused.length > 0) {
    const others = changes.filter((change) => !isProtected(change));
    const failed = propstat(namesOf(refused), 'HTTP/1.1 403 Forbidden', '<D:cannot-modify-protected-property/>');
    const skipped = others.length === 0 ? '' : propstat(namesOf(others), 'HTTP/1.1 424 Failed Dependency');
    return sendMultistatus(reply, href, failed + skipped);
  }
  await files.setProperties(entry.path, async () => {
    const { locks, properties } = environment.dav;
    await requireUnlocked(locks, { path: entry.path, isMember: false, isTree: false }, context);
    await properties.change(entry.path, changes.filter(isStored), holder.user);
  });
  if (context.isMinimal) return reply.header('preference-applied', 'return=minimal').code(204).send();
  return sendMultistatus(reply, href, propstat(namesOf(changes), 'HTTP/1.1 200 OK'));
}

const isStored = ({ namespace, name }: PropertyName) =>
  !(namespace === MICROSOFT_NAMESPACE && ACCEPTED_ONLY.includes(name));

/** Returns the changes in the order of the document. Throws 400 for another document. */
function parseBody(body: Buffer): PropertyChange[] {
  if (body.length === 0) throw new DavError(400, 'The body is empty. Send a DAV:propertyupdate element.');
  const root = parseXml(body);
  if (!isDav(root, 'propertyupdate')) throw new DavError(400, 'The body is not a DAV:propertyupdate element.');
  const changes: PropertyChange[] = [];
  for (const step of elementsOf(root)) {
    const isSet = isDav(step, 'set');
    const properties = isSet || isDav(step, 'remove') ? childOf(step, 'prop') : undefined;
    for (const property of properties ? elementsOf(properties) : []) changes.push(changeOf(property, isSet));
  }
  if (changes.length === 0) throw new DavError(400, 'The body sets and removes no property.');
  return changes;
}

function changeOf(property: XmlElement, isSet: boolean): PropertyChange {
  const { namespace, name } = property;
  return { namespace, name, xml: isSet ? toXml(property) : undefined };
}

/** Returns the elements of the properties, each once. */
const namesOf = (names: readonly PropertyName[]): string => [...new Set(names.map(emptyElement))].join('');

function sendMultistatus(reply: FastifyReply, href: string, propstats: string): FastifyReply {
  const response = `<D:response><D:href>${href}</D:href>${propstats}</D:response>`;
  const document = `<?xml version="1.0" encoding="utf-8"?>\n<D:multistatus xmlns:D="DAV:">\n${response}</D:multistatus>\n`;
  return reply.code(207).type(XML_TYPE).send(document);
}
