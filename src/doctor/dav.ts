import { type Check, type Finding, failed, notTried, ok, warning } from '../checks/check.ts';
import { SMALL } from '../checks/probe.ts';
import type { RequestOptions, Response } from '../checks/requests.ts';
import {
  describeResponse,
  explainAddress,
  PATHS_ADVICE,
  type PassageSubject,
  pathOf,
  requestService,
  TOKEN_ADVICE,
} from './address.ts';
import { prepareAnnouncements, UNLIMITED } from './body-limit.ts';
import { BODY_SIZE_ADVICE } from './uploads.ts';

const ROUTE = '/-/dav/';

/** Names in the folder of these checks, and one that a client sends in `Destination`. */
const FOLDER = 'dav/';
const FILE = `${FOLDER}file.txt`;
const OTHER = `${FOLDER}other.txt`;
const MOVED = `${FOLDER}moved a+b%2F é.txt`;

const isOn = ({ config }: PassageSubject) => config.DAV;

/** Checks that requests of WebDAV clients pass through the reverse proxy unchanged. */
export const DAV_CHECKS: readonly Check<PassageSubject>[] = [
  {
    name: 'url-dav-methods',
    needs: 'url-upload',
    concerns: isOn,
    writes: true,
    run: checkMethods,
    explain: explainAddress,
  },
  {
    name: 'url-dav-destination',
    needs: 'url-dav-methods',
    concerns: isOn,
    writes: true,
    run: checkDestination,
    explain: explainAddress,
  },
  {
    name: 'url-dav-headers',
    needs: 'url-dav-methods',
    concerns: isOn,
    writes: true,
    run: checkHeaders,
    explain: explainAddress,
  },
  {
    name: 'url-dav-chunked',
    needs: 'url-dav-methods',
    concerns: isOn,
    writes: true,
    async run(subject, signal) {
      const headers = { 'x-expected-entity-length': String(SMALL.length) };
      const put = await request(subject, OTHER, { method: 'PUT', headers, body: SMALL, isChunked: true, signal });
      const found = await request(subject, OTHER, { signal });
      if (found.status === 200 && found.body.equals(SMALL)) return ok('Bodies without a length pass.');
      return failed(
        `A PUT without Content-Length, as Finder sends it, returned ${describe(put)}, and stored ${found.status === 200 ? found.body.length : 0} of ${SMALL.length} bytes.`,
        'Forward requests with Transfer-Encoding: chunked. nginx: proxy_http_version 1.1; and proxy_request_buffering off; Apache: no proxy-sendcl.',
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-dav-body-size',
    needs: 'url-dav-methods',
    concerns: isOn,
    timeout: 60_000,
    run: checkBodySize,
    explain: () => BODY_SIZE_ADVICE,
  },
  {
    name: 'url-dav-sign-in',
    needs: 'url-client-address',
    concerns: ({ config }) => config.DAV && config.ACCESS_FILE !== undefined,
    run: checkSignIn,
    explain: explainAddress,
  },
];

const DAV_OFF = 'WebDAV is disabled: the service has DAV=false.';

/** A request, and whether its response is that of the service. */
type Step = readonly [
  method: string,
  name: string,
  options: Partial<RequestOptions>,
  isRight: (response: Response) => boolean,
];

const status =
  (...expected: readonly number[]) =>
  (response: Response) =>
    expected.includes(response.status);

/** Sends each method once, in an order in which each one depends on the earlier ones. */
async function checkMethods(subject: PassageSubject, signal: AbortSignal): Promise<Finding> {
  const toOther = { destination: pathIn(subject, OTHER) };
  const back = { destination: pathIn(subject, FILE), overwrite: 'T' };
  const steps: readonly Step[] = [
    ['OPTIONS', '', {}, ({ headers }) => String(headers['dav'] ?? '').includes('2')],
    ['MKCOL', FOLDER, {}, status(201)],
    ['PUT', FILE, { body: SMALL }, status(201)],
    ['GET', FILE, {}, ({ status: code, body }) => code === 200 && body.equals(SMALL)],
    ['PROPFIND', FOLDER, { headers: { depth: '1' } }, (response) => response.status === 207 || lacksDepth(response)],
    ['PROPPATCH', FILE, { body: Buffer.from(SET_PROPERTY), headers: XML }, status(207)],
    ['COPY', FILE, { headers: toOther }, status(201)],
    ['MOVE', OTHER, { headers: back }, status(204)],
  ];
  const refused: string[] = [];
  for (const [method, name, options, isRight] of steps) {
    const response = await request(subject, name, { method, signal, ...options });
    if (method === 'OPTIONS' && response.envelope?.code === 'unknown-route') return notTried(DAV_OFF);
    if (isRight(response)) continue;
    if (response.status === 401 || (response.status === 403 && isFromService(response))) {
      return failed(`${method} returned ${describe(response)}`, TOKEN_ADVICE);
    }
    refused.push(`${method} returned ${describe(response)}`);
  }
  const token = await lock(subject, signal);
  if (typeof token === 'string') {
    const unlocked = await unlock(subject, token, signal);
    if (unlocked.status !== 204) refused.push(`UNLOCK returned ${describe(unlocked)}`);
  } else refused.push(`LOCK returned ${describe(token)}`);
  if (refused.length === 0) return ok('All methods of WebDAV pass.');
  return failed(refused.join('; '), METHODS_ADVICE);
}

const METHODS_ADVICE =
  'Allow OPTIONS, PROPFIND, PROPPATCH, MKCOL, COPY, MOVE, LOCK and UNLOCK below /-/dav/ in the proxy and in a web application firewall (nginx: no limit_except), and let the proxy answer no OPTIONS itself. To disable WebDAV, set DAV=false.';

/** Returns whether the service got a PROPFIND without `Depth`, which `url-dav-headers` reports. */
const lacksDepth = ({ body }: Response) => body.includes('propfind-finite-depth');

/** Moves a file to a URL, with a name that proxies that change URLs would change. */
async function checkDestination(subject: PassageSubject, signal: AbortSignal): Promise<Finding> {
  const destination = subject.url + pathOf(ROUTE, subject, MOVED);
  const moved = await request(subject, FILE, { method: 'MOVE', headers: { destination }, signal });
  if (moved.status !== 201) {
    return failed(`A move to ${destination} returned ${describe(moved)}`, adviceOnDestination(moved, subject));
  }
  const found = await request(subject, MOVED, { signal });
  // The next checks need the file.
  const headers = { destination: pathIn(subject, FILE) };
  await request(subject, MOVED, { method: 'MOVE', headers, signal });
  if (found.status === 200 && found.body.equals(SMALL)) return ok('Destination arrives unchanged.');
  return failed(`A file moved to ${destination} is not there: the proxy changed Destination.`, PATHS_ADVICE);
}

function adviceOnDestination(response: Response, { url }: PassageSubject): string {
  if (!isFromService(response)) return METHODS_ADVICE;
  return `Forward Host and Destination unchanged, and set PUBLIC_URL=${url} for the service. nginx: proxy_set_header Host $http_host; and no proxy_set_header Destination. Apache: ProxyPreserveHost On, and no RequestHeader edit Destination with another host.`;
}

/** Checks headers without which a request would do something else. */
async function checkHeaders(subject: PassageSubject, signal: AbortSignal): Promise<Finding> {
  const removed: string[] = [];
  const shallow = await request(subject, FOLDER, { method: 'PROPFIND', headers: { depth: '0' }, signal });
  if (shallow.status !== 207 || countResponses(shallow) !== 1) removed.push('Depth');

  await request(subject, OTHER, { method: 'PUT', body: SMALL, signal });
  const destination = pathIn(subject, OTHER);
  const headers = { destination, overwrite: 'F' };
  const kept = await request(subject, FILE, { method: 'COPY', headers, signal });
  if (kept.status !== 412) removed.push('Overwrite');

  const token = await lock(subject, signal);
  if (typeof token !== 'string') return failed(`LOCK returned ${describe(token)}`, HEADERS_ADVICE);
  try {
    const put = await request(subject, FILE, { method: 'PUT', headers: { if: `(${token})` }, body: SMALL, signal });
    if (put.status !== 204) removed.push('If');
  } finally {
    await unlock(subject, token, signal);
  }
  if (removed.length === 0) return ok('Depth, If and Overwrite arrive unchanged.');
  return failed(`The proxy removes or changes headers of requests: ${removed.join(', ')}.`, HEADERS_ADVICE);
}

const HEADERS_ADVICE =
  'Forward all headers of requests, also Depth, Destination, If, Lock-Token, Overwrite and Timeout, and Lock-Token in responses.';

async function checkBodySize(subject: PassageSubject, signal: AbortSignal): Promise<Finding> {
  // RFC 9110, section 14.5: a PUT with Content-Range is refused.
  const refused = {
    path: pathOf(ROUTE, subject, OTHER),
    method: 'PUT',
    headers: { 'content-range': 'bytes 0-4095/8192' },
    body: SMALL,
  };
  const { announce } = await prepareAnnouncements(subject, signal, refused);
  const response = await announce(UNLIMITED);
  if (response?.status !== 413 || isFromService(response))
    return ok('The proxy does not limit the size of files that WebDAV clients send.');
  return warning(
    "The proxy limits the size of requests, and WebDAV clients can't send files in parts: they can't save larger files.",
    BODY_SIZE_ADVICE,
  );
}

/** Checks that clients without credentials learn that they must send some, from the service. */
async function checkSignIn(subject: PassageSubject, signal: AbortSignal): Promise<Finding> {
  const headers = { depth: '0' };
  const response = await requestService({ ...subject, token: undefined }, ROUTE, {
    method: 'PROPFIND',
    headers,
    signal,
  });
  if (response.envelope?.code === 'unknown-route') return notTried(DAV_OFF);
  if (response.status === 207) return ok('Anyone can list the root with a WebDAV client.');
  const challenge = response.headers['www-authenticate'] ?? '';
  if (response.status === 401 && /\bBasic\b/i.test(challenge))
    return ok('WebDAV clients are asked for a username and a password.');
  return failed(
    `A WebDAV request without credentials returned ${describe(response)}`,
    'Exempt /-/dav/ from the sign-in of the proxy (nginx: auth_request off;), and forward WWW-Authenticate in responses and Authorization in requests. WebDAV clients follow no redirects to a sign-in page.',
  );
}

function request(
  subject: PassageSubject,
  name: string,
  options: Partial<RequestOptions> & Pick<RequestOptions, 'signal'>,
): Promise<Response> {
  return requestService(subject, pathOf(ROUTE, subject, name), options);
}

/** Returns the path of the URL of a file, for headers. */
function pathIn(subject: PassageSubject, name: string): string {
  return new URL(subject.url).pathname.replace(/\/$/, '') + pathOf(ROUTE, subject, name);
}

const XML = { 'content-type': 'application/xml' };

const SET_PROPERTY =
  '<?xml version="1.0" encoding="utf-8"?><D:propertyupdate xmlns:D="DAV:"><D:set><D:prop>' +
  '<probe xmlns="urn:holdall:doctor">1</probe></D:prop></D:set></D:propertyupdate>';

const LOCK_INFO =
  '<?xml version="1.0" encoding="utf-8"?><D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope>' +
  '<D:locktype><D:write/></D:locktype><D:owner>holdall doctor</D:owner></D:lockinfo>';

/** Locks the file for a minute. Returns the token in angle brackets, or the response without one. */
async function lock(subject: PassageSubject, signal: AbortSignal): Promise<string | Response> {
  const headers = { ...XML, depth: '0', timeout: 'Second-60' };
  const response = await request(subject, FILE, { method: 'LOCK', headers, body: Buffer.from(LOCK_INFO), signal });
  const token = response.headers['lock-token'];
  return response.status === 200 && typeof token === 'string' ? token : response;
}

function unlock(subject: PassageSubject, token: string, signal: AbortSignal): Promise<Response> {
  return request(subject, FILE, { method: 'UNLOCK', headers: { 'lock-token': token }, signal });
}

function countResponses({ body }: Response): number {
  return body.toString().split('<D:response>').length - 1;
}

/** The message in an error of the service (`sendDavFailure`). */
const MESSAGE = /<H:message [^<>]*>([^<]*)</;

function isFromService({ envelope, body }: Response): boolean {
  return envelope !== undefined || MESSAGE.test(body.toString());
}

function describe(response: Response): string {
  const [, message] = MESSAGE.exec(response.body.toString()) ?? [];
  if (message === undefined) return describeResponse(response);
  const text = message
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
  return `${response.status}: ${text}`;
}
