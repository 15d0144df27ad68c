import { setTimeout as delay } from 'node:timers/promises';
import { connect } from 'node:tls';
import { type Check, type Finding, failed, ok, warning } from '../checks/check.ts';
import { type RequestOptions, type Response, sendRequest } from '../checks/requests.ts';
import type { Config } from '../config/settings.ts';
import type { StoreSubject } from '../stores/backend.ts';
import { certificateDateAdvice, networkFailureOf, networkProblem } from '../stores/network.ts';
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
const MAX_ATTEMPTS = 5;

/** Sends a request with the token to a path of the service. */
export async function requestService(
  { url, token }: AddressSubject,
  path: string,
  options: RequestOptions,
): Promise<Response> {
  const { origin } = new URL(url);
  const authorization: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { ...authorization, ...options.headers };
  try {
    for (let attempt = 1; ; attempt++) {
      const response = await sendRequest(origin, url.slice(origin.length) + path, { ...options, headers });
      if (attempt === MAX_ATTEMPTS || response.envelope?.code !== 'overloaded') return response;
      await delay(1000, undefined, { signal: options.signal });
    }
  } catch (error) {
    throw networkProblem(error, { name: `The address ${url}`, setting: 'PUBLIC_URL' }) ?? error;
  }
}

/** Describes a response: its status and the error of the service. */
export function describeResponse({ status, envelope }: Response): string {
  if (envelope?.error !== undefined) return `${status}: ${envelope.error}`;
  return envelope === undefined ? `${status} from a proxy or another server` : String(status);
}

/** Checks before any file is requested. */
export const ADDRESS_CHECKS: readonly Check<AddressSubject>[] = [
  {
    name: 'url-live',
    timeout: 15_000,
    async run(subject, signal) {
      const path = '/-/health/live';
      const response = await requestService(subject, path, { signal });
      if (response.status === 200 && response.envelope?.success) return ok(`The service responds at ${subject.url}.`);
      return failed(`${subject.url}${path} returned ${describeResponse(response)}.`, adviceOnLive(response, subject));
    },
    explain: explainAddress,
  },
  {
    name: 'url-certificate',
    needs: 'url-live',
    concerns: ({ url }) => url.startsWith('https:'),
    timeout: 15_000,
    run: async ({ url }, signal) => checkCertificate(new URL(url), signal),
    explain: explainAddress,
  },
  {
    name: 'url-service',
    needs: 'url-live',
    async run(subject, signal) {
      const response = await requestService(subject, '/-/openapi.json', { signal });
      if (response.status !== 200)
        return failed(`The service returned ${describeResponse(response)}`, adviceOnHost(response, subject));
      const { info } = JSON.parse(response.body.toString()) as { info?: { version?: string } };
      if (info?.version === subject.version)
        return ok(`Holdall ${subject.version} accepts requests for ${new URL(subject.url).host}.`);
      return warning(
        `The service is Holdall ${info?.version}, but this command is Holdall ${subject.version}.`,
        'Restart the service after an upgrade, or run the doctor of the same version.',
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-ready',
    needs: 'url-live',
    async run(subject, signal) {
      const response = await requestService(subject, '/-/health/ready', { signal });
      if (response.status === 200) return ok('The service reaches its store.');
      return failed(
        `The service is not ready: ${describeResponse(response)}`,
        'See the checks of the store. If they succeed, the service has other settings or runs on another machine. Run the doctor there.',
      );
    },
    explain: explainAddress,
  },
  {
    name: 'url-request-id',
    needs: 'url-live',
    async run(subject, signal) {
      const id = 'holdall-doctor.1';
      const { headers } = await requestService(subject, '/-/health/live', { headers: { 'x-request-id': id }, signal });
      if (headers['x-request-id'] === id) return ok('The proxy forwards X-Request-Id in both directions.');
      if (headers['x-request-id'] !== undefined)
        return ok('The proxy sets its own X-Request-Id, which the log contains.');
      return warning(
        "Responses have no X-Request-Id, so users can't report the ID of a failed request.",
        'Forward X-Request-Id in responses. nginx: remove proxy_hide_header X-Request-Id.',
      );
    },
    explain: explainAddress,
  },
];

/** Returns advice for a URL that can't be reached. */
export function explainAddress(error: unknown, { url, config }: AddressSubject): string {
  const failure = networkFailureOf(error);
  const { host } = new URL(url);
  if (failure === 'unknown-host') return `Create a DNS record for ${host}, or correct PUBLIC_URL.`;
  if (failure === 'insecure')
    return `Install a certificate for ${host} with its intermediate certificates in the proxy. For a private certificate authority, set NODE_EXTRA_CA_CERTS.`;
  const dateAdvice = certificateDateAdvice(error, host);
  if (dateAdvice !== undefined) return dateAdvice;
  return `Start the service and the reverse proxy, open the firewall for ${host}, or correct PUBLIC_URL. On the same machine, try --url http://127.0.0.1:${config.PORT}${config.BASE_PATH}.`;
}

function adviceOnLive({ status, headers, envelope }: Response, { url, config }: AddressSubject): string {
  const base = new URL(url).pathname.replace(/\/$/, '');
  const upstream = `http://${config.HOST}:${config.PORT}`;
  if (status >= 300 && status < 400) {
    return `The URL redirects to ${headers.location?.split('?')[0]}. Set PUBLIC_URL to the final URL. If the proxy requires a sign-in, exempt /-/health/.`;
  }
  if (envelope !== undefined && config.BASE_PATH !== base) {
    return base === ''
      ? `Add the BASE_PATH ${config.BASE_PATH} to the URL.`
      : `The service receives ${base}/-/health/live. Set BASE_PATH=${base}, or let the proxy remove ${base} (docs/how-to/reverse-proxies.md, "Serve below a path"), or remove it from PUBLIC_URL.`;
  }
  if (envelope !== undefined) {
    return `The proxy changes the path. nginx: proxy_pass ${upstream}; without a path.`;
  }
  if (status === 502 || status === 503 || status === 504) {
    return `The proxy can't reach the service. Start the service, and point the proxy at ${upstream} (nginx: proxy_pass ${upstream};).`;
  }
  if (status === 401 || status === 403)
    return 'A server in front of Holdall requires a sign-in. Exempt /-/health/ from it.';
  return `Another server responds. Forward ${url}/ to ${upstream} (nginx: server_name and location), or correct PUBLIC_URL.`;
}

function adviceOnHost({ envelope }: Response, { url }: AddressSubject): string {
  const { host } = new URL(url);
  if (envelope?.code === 'unknown-host') {
    return `The service received another Host header, or has another PUBLIC_URL. Forward the header (nginx: proxy_set_header Host $http_host;), and set PUBLIC_URL=${url} for the service.`;
  }
  if (envelope?.code === 'loopback-only') {
    return `Set ACCESS_FILE, PUBLIC_URL=${url} and TRUST_PROXY, as described in docs/how-to/reverse-proxies.md, and restart the service.`;
  }
  return `Forward all requests below ${url}/ with the Host ${host}.`;
}

/** Days before expiry at which a certificate should have been renewed. */
const MIN_VALID_DAYS = 14;

async function checkCertificate({ hostname, port }: URL, signal: AbortSignal): Promise<Finding> {
  const socket = connect({ host: hostname, port: Number(port || 443), servername: hostname });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('secureConnect', resolve);
      socket.once('error', reject);
      signal.addEventListener('abort', () => reject(new Error('No response.')), { once: true });
    });
    const days = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / 86_400_000);
    if (days >= MIN_VALID_DAYS) return ok(`The certificate is valid for ${days} days.`);
    return warning(
      `The certificate expires in ${days} days.`,
      `Renew the certificate of ${hostname}, and find out why automatic renewal failed.`,
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

export const TOKEN_ADVICE =
  'Check the token in HOLDALL_TOKEN and its entry in ACCESS_FILE: it must not have expired, and its user needs read, write and manage for "/" (npx holdall access explain NAME upload /).';

export const PATHS_ADVICE =
  'Forward paths unchanged. nginx: proxy_pass without a path, not even "/". Apache: AllowEncodedSlashes NoDecode, and ProxyPass with nocanon. Remove rewrites that decode paths.';

/** Returns advice for a request that should succeed but was refused. */
export function adviceOnRefusal({ status, envelope }: Response): string {
  if (status === 401 || status === 403)
    return envelope === undefined ? 'Forward the request to the service.' : TOKEN_ADVICE;
  return 'Search the logs of the proxy and of the service for the X-Request-Id of the response.';
}
