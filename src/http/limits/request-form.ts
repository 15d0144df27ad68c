import type { IncomingHttpHeaders } from 'node:http';
import { quoted } from '../../domain/error.ts';
import { HttpError } from '../errors.ts';
import type { App } from '../service.ts';

/** Headers that a request may have: more than any browser and any row of proxies sends. */
const MAX_HEADERS = 200;

/**
 * Refuses requests with too many headers, which cost more than their bytes. Node would leave out those beyond a number
 * without a word: also the ones that a proxy appended to say whom the request is from.
 */
export function limitHeaders(app: App): void {
  // Without a limit of its own: 16 KiB have at most 4,096 of them.
  app.server.maxHeadersCount = 0;
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const count = raw.rawHeaders.length / 2;
    if (count > MAX_HEADERS)
      throw new HttpError(431, `The request has ${count} headers, where at most ${MAX_HEADERS} are taken.`);
    done();
  });
}

/** Refuses bodies that are compressed: nothing here unpacks them, and their bytes would be taken for what they hold. */
export function refuseEncodedBodies(app: App): void {
  app.addHook('preParsing', ({ headers }, reply, _payload, done) => {
    const coding = headers['content-encoding'];
    if (coding === undefined || coding.toLowerCase() === 'identity' || !hasBody(headers)) return done();
    // RFC 9110, section 12.5.3: what would have been taken.
    reply.header('accept-encoding', 'identity');
    throw new HttpError(415, `The body is sent with Content-Encoding: ${quoted(coding)}; send it as it is, without.`);
  });
}

/** Whether a request of these headers has a body, of any length: RFC 9112, section 6.3. */
export function hasBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
