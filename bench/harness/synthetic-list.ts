import { etagOf, type Objects } from './synthetic-objects.ts';
import type { SyntheticResponse } from './synthetic-s3.ts';
import { escapeXml, xml } from './synthetic-xml.ts';

/** ListObjectsV2: keys below a prefix. Keys with the delimiter after the prefix are grouped. */
export function listObjects(query: URLSearchParams, bucket: string, objects: Objects): SyntheticResponse {
  const of = (name: string) => query.get(name) ?? '';
  const [prefix, delimiter, token, startAfter] = [
    of('prefix'),
    of('delimiter'),
    of('continuation-token'),
    of('start-after'),
  ];
  const most = Math.min(1000, Number(query.get('max-keys') ?? 1000));
  const after = token === '' ? startAfter : decodeToken(token);
  const { keys, prefixes, last, goesOn: hasMore } = gather(objects, { prefix, delimiter, after, most });
  const encode = query.get('encoding-type') === 'url' ? encodeKey : escapeXml;
  const contents = keys.map((key) => {
    const object = objects.get(key);
    if (!object) throw new Error(`${key} is listed and not there`);
    return (
      `<Contents><Key>${encode(key)}</Key><LastModified>${object.modified.toISOString()}</LastModified>` +
      `<ETag>${escapeXml(etagOf(object))}</ETag><Size>${Buffer.byteLength(object.content)}</Size>` +
      '<StorageClass>STANDARD</StorageClass></Contents>'
    );
  });
  const parts = [
    element('Name', bucket),
    element('Prefix', encode(prefix)),
    element('MaxKeys', String(most)),
    ...(delimiter === '' ? [] : [element('Delimiter', encode(delimiter))]),
    ...(query.has('encoding-type') ? [element('EncodingType', 'url')] : []),
    ...(token === '' ? [] : [element('ContinuationToken', token)]),
    ...(query.has('start-after') ? [element('StartAfter', encode(startAfter))] : []),
    element('KeyCount', String(keys.length + prefixes.length)),
    element('IsTruncated', String(hasMore)),
    ...(hasMore ? [element('NextContinuationToken', encodeToken(last))] : []),
    ...contents,
    ...prefixes.map((each) => `<CommonPrefixes>${element('Prefix', encode(each))}</CommonPrefixes>`),
  ];
  const body = xml(
    `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</ListBucketResult>`,
  );
  return { status: 200, headers: { 'content-type': 'application/xml' }, body };
}

interface Range {
  readonly prefix: string;
  readonly delimiter: string;
  readonly after: string;
  readonly most: number;
}

function gather(objects: Objects, { prefix, delimiter, after, most }: Range) {
  const [keys, prefixes]: [string[], string[]] = [[], []];
  let last = after;
  let key = after === '' ? objects.next(prefix, prefix, true) : objects.next(prefix, after, false);
  while (key !== undefined && keys.length + prefixes.length < most) {
    const end = delimiter === '' ? -1 : key.indexOf(delimiter, prefix.length);
    if (end === -1) {
      keys.push(key);
      last = key;
      key = objects.next(prefix, key, false);
    } else {
      const common = key.slice(0, end + delimiter.length);
      prefixes.push(common);
      last = common + LAST;
      key = objects.next(prefix, last, false);
    }
  }
  return { keys, prefixes, last, goesOn: key !== undefined };
}

/** Returns a position after all keys with this prefix. */
const LAST = '\u{10ffff}';

const element = (name: string, text: string) => `<${name}>${text}</${name}>`;

/** Encodes a key as Amazon S3 does: spaces as `+`, and slashes unchanged. */
function encodeKey(key: string): string {
  return encodeURIComponent(key).replaceAll('%20', '+').replaceAll('%2F', '/');
}

const encodeToken = (last: string) => Buffer.from(last).toString('base64url');
const decodeToken = (token: string) => Buffer.from(token, 'base64url').toString();
