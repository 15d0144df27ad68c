import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { type Check, type Finding, failed, ok, warning } from '../checks/check.ts';
import { type RequestOptions, type Response, sendRequest } from '../checks/requests.ts';
import type { Config } from '../config/settings.ts';
import type { StoreSubject } from '../stores/backend.ts';
import { networkFailureOf, networkProblem } from '../stores/network.ts';
import { encodeKey } from '../stores/s3/keys.ts';

/** The public URL of the service, and how to send requests to it. */
export interface AddressSubject {
  readonly config: Config;
  /** Without a trailing slash. */
  readonly url: string;
  /** Access token of the requests, if any. */
  readonly token: string | undefined;
  readonly version: string;
}

/** Maximum attempts if the service is overloaded. */
const ATTEMPTS = 5;

/** Sends a request with the token to a path of the service. */
export async function call({ url, token }: AddressSubject, path: string, asked: RequestOptions): Promise<Response> {
  const { origin } = new URL(url);
  const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { ...authorization, ...asked.headers };
  try {
    for (let attempt = 1; ; attempt++) {
      const answer = await sendRequest(origin, url.slice(origin.length) + path, { ...asked, headers });
      if (attempt === ATTEMPTS || answer.envelope?.code !== 'overloaded') return answer;
      await delay(1000, undefined, { signal: asked.signal });
    }
  } catch (error) {
    throw networkProblem(error, { name: `The address ${url}`, setting: 'PUBLIC_URL' }) ?? error;
  }
}

/** Describes a response: its status and the error of the service. */
export function sayAnswer({ status, envelope }: Response): string {
  if (envelope?.error !== undefined) return `${status}: ${envelope.error}`;
  return envelope === undefined ? `${status}, which is not of the service` : String(status);
}

/** Checks before any file is requested. */
export const ADDRESS_CHECKS: readonly Check<AddressSubject>[] = [
  {
    name: 'url-live',
    timeout: 15_000,
    async run(subject, signal) {
      const path = '/-/health/live';
      const answer = await call(subject, path, { signal });
      if (answer.status === 200 && answer.envelope?.success) return ok(`The service answers at ${subject.url}.`);
      return failed(`${subject.url}${path} is answered with ${sayAnswer(answer)}.`, adviceOnLive(answer, subject));
    },
    explain: explainAddress,
  },
  {
    name: 'url-certificate',
    needs: 'url-live',
    concerns: ({ url }) => url.startsWith('https:'),
    timeout: 15_000,
    run: async ({ url }, signal) => lookAtCertificate(new URL(url), signal),
    explain: explainAddress,
  },
  {
    name: 'url-service',
    needs: 'url-live',
    async run(subject, signal) {
      const answer = await call(subject, '/-/openapi.json', { signal });
      if (answer.status !== 200)
        return failed(`The service answers with ${sayAnswer(answer)}`, adviceOnHost(answer, subject));
      const { info } = JSON.parse(answer.body.toString()) as { info?: { version?: string } };
      if (info?.version === subject.version)
        return ok(`It is Holdall ${subject.version}, and takes its requests for ${new URL(subject.url).host}.`);
      return warning(
        `It is Holdall ${info?.version}, and this is ${subject.version}.`,
        'Start the service anew after an upgrade, or run this with the version that serves.',
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-ready',
    needs: 'url-live',
    async run(subject, signal) {
      const answer = await call(subject, '/-/health/ready', { signal });
      if (answer.status === 200) return ok('The service reaches its store.');
      return failed(
        `The service is not ready: ${sayAnswer(answer)}`,
        'See what the checks of the store say. Where they are well, the service runs with other settings, or on another machine: look there.',
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-request-id',
    needs: 'url-live',
    async run(subject, signal) {
      const id = 'holdall-doctor.1';
      const { headers } = await call(subject, '/-/health/live', { headers: { 'x-request-id': id }, signal });
      if (headers['x-request-id'] === id) return ok('The proxy passes on the id of a request, and that of its answer.');
      if (headers['x-request-id'] !== undefined)
        return ok('The proxy gives requests an id of its own, by which the log has them.');
      return warning(
        'Answers come without X-Request-Id: what a person reports can’t be found in the log.',
        'Let the proxy pass X-Request-Id on: in nginx, take proxy_hide_header X-Request-Id away.',
      );
    },
    explain: explainAddress,
  },
];

/** Returns advice for a URL that can't be reached. */
export function explainAddress(error: unknown, { url, config }: AddressSubject): string {
  const failure = networkFailureOf(error);
  const { host } = new URL(url);
  if (failure === 'unknown-host') return `Give ${host} an entry in the DNS, or correct PUBLIC_URL.`;
  if (failure === 'insecure')
    return `Give the proxy a certificate that is valid for ${host}, with those between it and its authority; for an authority of your own set NODE_EXTRA_CA_CERTS.`;
  return `Start the service and the proxy before it, let a firewall pass ${host}, or correct PUBLIC_URL. From this machine itself, try --url http://127.0.0.1:${config.PORT}.`;
}

function adviceOnLive({ status, headers, envelope }: Response, { url, config }: AddressSubject): string {
  const base = new URL(url).pathname.replace(/\/$/, '');
  const upstream = `http://${config.HOST}:${config.PORT}`;
  if (status >= 300 && status < 400) {
    return `It leads to ${headers.location?.split('?')[0]}: set PUBLIC_URL to the address that is not sent on; a sign-in of the proxy has to let /-/health/ pass.`;
  }
  if (envelope !== undefined && base !== '') {
    return `The service is asked for ${base}/-/health/live: let the proxy take ${base} off, as docs/reverse-proxies.md has it under "Below a path of its own", or take it out of PUBLIC_URL.`;
  }
  if (envelope !== undefined) {
    return `The proxy changes the path: in nginx, write proxy_pass ${upstream}; with nothing behind the port.`;
  }
  if (status === 502 || status === 503 || status === 504) {
    return `The proxy does not reach the service: start it, and let the proxy lead to ${upstream} (nginx: proxy_pass ${upstream};).`;
  }
  if (status === 401 || status === 403)
    return 'Something before the service asks for a sign-in of its own: let it pass /-/health/.';
  return `Another server answers there: let the proxy pass ${url}/ on to ${upstream} (nginx: server_name and location), or correct PUBLIC_URL.`;
}

function adviceOnHost({ envelope }: Response, { url }: AddressSubject): string {
  const { host } = new URL(url);
  if (envelope?.code === 'unknown-host') {
    return `The service does not see the host that was asked for, or PUBLIC_URL is another: let the proxy pass it on (nginx: proxy_set_header Host $http_host;), and set PUBLIC_URL to ${url} where the service runs.`;
  }
  if (envelope?.code === 'loopback-only') {
    return `Set ACCESS_FILE, PUBLIC_URL=${url} and TRUST_PROXY, as docs/reverse-proxies.md has it, and start the service anew.`;
  }
  return `Let the proxy pass on all that is below ${url}/, with the host ${host}.`;
}

/** Days before expiry at which a certificate should have been renewed. */
const RENEWED_BY = 14;

async function lookAtCertificate({ hostname, port }: URL, signal: AbortSignal): Promise<Finding> {
  const socket = connect({ host: hostname, port: Number(port || 443), servername: hostname });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve);
      socket.once('error', reject);
      signal.addEventListener('abort', () => reject(new Error('There was no answer.')), { once: true });
    });
    const days = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / 86_400_000);
    if (days >= RENEWED_BY) return ok(`The certificate is valid for ${days} days.`);
    return warning(
      `The certificate ends in ${days} days.`,
      `Renew the certificate of ${hostname}, and see why that did not happen by itself.`,
    );
  } finally {
    socket.destroy();
  }
}

/** The public URL, and the store with the probe. For checks of how the reverse proxy passes files. */
export type PassageSubject = AddressSubject & StoreSubject;

/** Returns the request path of a probe file for a route. */
export function pathOf(route: string, { probe }: PassageSubject, name: string): string {
  return `${route}${encodeKey(probe + name)}`;
}

export const ADVICE_ON_TOKEN =
  'Look at the token in HOLDALL_TOKEN, and at its entry in ACCESS_FILE: whether it has expired, and whether its person may read, write and manage in "/" (npx holdall access explain NAME upload /).';

export const PATHS =
  'Have the proxy pass paths on as they are: in nginx proxy_pass with nothing behind the port, not even a "/"; in Apache AllowEncodedSlashes NoDecode and ProxyPass with nocanon; and no rewrite that decodes them.';

/** Returns advice for a request that should succeed but was refused. */
export function adviceOnRefusal({ status, envelope }: Response): string {
  if (status === 401 || status === 403) return envelope === undefined ? 'Let the proxy pass it on.' : ADVICE_ON_TOKEN;
  return 'Look for the answer in the log of the proxy and, by its X-Request-Id, in that of the service.';
}
