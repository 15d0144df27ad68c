import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair } from 'jose';
import { Provider } from 'oidc-provider';

/** An OpenID Connect provider on this machine, which signs every user in at once. */
export interface IdentityProvider {
  readonly issuer: string;
  readonly client: { readonly clientId: string; readonly clientSecret: string };
  /** The user who signs in: their claims, or the error of the provider. */
  user: { readonly claims: Record<string, unknown> } | { readonly refusal: string };
  /** Whether the provider works. Otherwise, all its responses are 500. */
  isAvailable: boolean;
  /** The requested paths so far, without their queries. */
  readonly requested: readonly string[];
  /** How the client authenticated its last token request: `Basic`, or undefined for the body. */
  tokenRequestAuth: string | undefined;
  stop(): Promise<void>;
}

export interface IdentityProviderOptions {
  /** The callback URL of the client. */
  readonly redirectUri: string;
  /** Whether the ID token has all claims. By default, only the user info has them. */
  readonly claimsInIdToken?: boolean;
  /** Whether the client authenticates in the request body, instead of by Basic. */
  readonly secretInBody?: boolean;
  /** The client's secret. Default: one that a setting can't contain. */
  readonly clientSecret?: string;
}

const CLIENT = { clientId: 'holdall', clientSecret: 'secret of the client, with % and +' } as const;

const SUBJECT = 'subject-1';

export async function startIdentityProvider(options: IdentityProviderOptions): Promise<IdentityProvider> {
  let provider: Provider | undefined;
  const requested: string[] = [];
  const server = createServer((request, response) => {
    requested.push(request.url?.split('?')[0] ?? '');
    if (request.url === '/token') running.tokenRequestAuth = request.headers.authorization?.split(' ')[0];
    if (!provider || !running.isAvailable) return void response.writeHead(500).end();
    if (request.url?.startsWith('/interaction/')) return void signIn(provider, running, request, response);
    return void provider.callback()(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const running: IdentityProvider = {
    issuer: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    client: { ...CLIENT, ...(options.clientSecret !== undefined && { clientSecret: options.clientSecret }) },
    user: { claims: {} },
    isAvailable: true,
    requested,
    tokenRequestAuth: undefined,
    async stop() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  provider = await createProvider(running, options);
  return running;
}

async function createProvider(running: IdentityProvider, options: IdentityProviderOptions): Promise<Provider> {
  const { redirectUri, claimsInIdToken = false, secretInBody = false } = options;
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  const method = secretInBody ? 'client_secret_post' : 'client_secret_basic';
  return new Provider(running.issuer, {
    clients: [
      {
        client_id: CLIENT.clientId,
        client_secret: running.client.clientSecret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: method,
      },
    ],
    clientAuthMethods: [method],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'signing', alg: 'RS256', use: 'sig' }] },
    cookies: { keys: ['key of the cookies'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['preferred_username', 'groups'] },
    conformIdTokenClaims: !claimsInIdToken,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
    ttl: { Session: 3600, Interaction: 600, Grant: 3600, AccessToken: 600, IdToken: 600, AuthorizationCode: 60 },
    findAccount: (_context, accountId) => ({
      accountId,
      claims: () => ({ sub: accountId, ...('claims' in running.user && running.user.claims) }),
    }),
    // Grants the consent that a user would give.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({ clientId: CLIENT.clientId, accountId: SUBJECT });
      grant.addOIDCScope('openid email profile');
      await grant.save();
      return grant;
    },
  });
}

/** Responds like a user on the pages of the provider. */
async function signIn(
  provider: Provider,
  { user }: IdentityProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const result =
    'refusal' in user
      ? { error: user.refusal, error_description: '<b>no</b>' }
      : { login: { accountId: SUBJECT, remember: false } };
  await provider.interactionFinished(request, response, result);
}
