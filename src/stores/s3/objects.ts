import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Connection, SendOptions } from './connection.ts';
import type { Key } from './keys.ts';
import { type ListResponse, readList, readOutcome } from './responses.ts';
import type { Query } from './signature.ts';

/** The properties of an object in response headers, by their names in the AWS SDK. */
export interface ObjectHead {
  readonly ETag: string | undefined;
  readonly LastModified: Date | undefined;
  readonly ContentType: string | undefined;
  readonly ContentLength: number | undefined;
  readonly ContentRange: string | undefined;
}

/** The frequent requests, as functions. The AWS SDK client sends all other requests. */
export interface Objects {
  /** GetObject. `read` reads the response. An error of `read` fails the request, which can be retried. */
  get<Read>(
    key: Key,
    conditions: { range?: string | undefined; ifMatch?: string | undefined },
    options: SendOptions,
    read: (head: ObjectHead, body: IncomingMessage) => Promise<Read>,
  ): Promise<Read>;
  /** HeadObject. */
  head(key: Key, options: SendOptions): Promise<ObjectHead>;
  /** ListObjectsV2. */
  list(query: Query, options: SendOptions): Promise<ListResponse>;
  /** CopyObject. `source` is the value of `x-amz-copy-source`. Keeps the attributes of the source. Returns the ETag. */
  copy(
    key: Key,
    headers: { source: string; sourceIfMatch?: string | undefined; ifNoneMatch?: '*' | undefined },
    options: SendOptions,
  ): Promise<string | undefined>;
  /** DeleteObject. */
  remove(key: Key, conditions: { ifMatch?: string | undefined }, options: SendOptions): Promise<void>;
  /** Returns a presigned URL for GetObject or HeadObject that sets headers of the response. */
  presign(
    method: 'GET' | 'HEAD',
    key: Key,
    answered: { disposition: string; type: string | undefined },
    expires: number,
  ): Promise<string>;
}

export function createObjects(asking: Connection): Objects {
  return {
    get: (key, { range, ifMatch }, options, read) =>
      asking.ask({ method: 'GET', key, headers: { range, 'if-match': ifMatch } }, options, (response) =>
        read(headOf(response.headers), response),
      ),

    head: (key, options) =>
      asking.ask({ method: 'HEAD', key }, options, async (response) => {
        response.resume();
        return headOf(response.headers);
      }),

    list: (query, options) => asking.ask({ method: 'GET', query: { 'list-type': '2', ...query } }, options, readList),

    copy(key, { source, sourceIfMatch, ifNoneMatch }, options) {
      const headers = {
        'x-amz-copy-source': source,
        'x-amz-copy-source-if-match': sourceIfMatch,
        'if-none-match': ifNoneMatch,
      };
      return asking.ask({ method: 'PUT', key, headers }, options, async (response) =>
        (await readOutcome(response)).get('ETag'),
      );
    },

    remove: (key, { ifMatch }, options) =>
      asking.ask({ method: 'DELETE', key, headers: { 'if-match': ifMatch } }, options, async (response) => {
        await readOutcome(response);
      }),

    presign: (method, key, { disposition, type }, expires) =>
      asking.presign(
        {
          method,
          key,
          query: {
            'X-Amz-Content-Sha256': 'UNSIGNED-PAYLOAD',
            'response-content-disposition': disposition,
            'response-content-type': type,
            'x-id': method === 'GET' ? 'GetObject' : undefined,
          },
        },
        expires,
      ),
  };
}

function headOf(headers: IncomingHttpHeaders): ObjectHead {
  const modified = new Date(headers['last-modified'] ?? Number.NaN);
  return {
    ETag: headers.etag,
    LastModified: Number.isNaN(modified.getTime()) ? undefined : modified,
    ContentType: headers['content-type'],
    ContentLength: headers['content-length'] === undefined ? undefined : Number(headers['content-length']),
    ContentRange: headers['content-range'],
  };
}
