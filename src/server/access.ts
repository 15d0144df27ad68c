import { join } from 'node:path';
import type { Logger } from 'pino';
import { OPEN_POLICY, type Policy } from '../access/policy.ts';
import { RemovedUsers } from '../access/removed-users.ts';
import { createRevocationFolder } from '../access/session-revocations.ts';
import type { Config } from '../config/settings.ts';
import type { Database } from '../database/database.ts';
import type { AccessControl } from '../http/access/authentication.ts';
import type { JwtSettings } from '../http/access/jwt.ts';
import type { ProviderSettings } from '../http/access/provider.ts';
import type { AppTokenService, LinkService, UploadService } from '../http/service.ts';
import { removeJobsOfRemoved } from '../jobs/removed-submitters.ts';
import type { OpenedStore } from '../stores/backend.ts';
import { unusableState } from '../stores/local-folders.ts';
import type { SharedState } from './limits.ts';

/** What ends when a user is removed. */
interface AccessDependencies {
  readonly appTokens: Pick<AppTokenService, 'lookup' | 'table'>;
  readonly links: Pick<LinkService, 'table'>;
  readonly uploads: Pick<UploadService, 'table'>;
  readonly database: Database;
}

/**
 * Creates the access control that the settings describe. `resources` closes everything that it opens. Throws
 * `AccessFileError` if the access file is unusable, and `SettingsError` if session revocations can't be stored.
 */
export async function openAccess(
  config: Config,
  opened: OpenedStore,
  { redis, counters, appTokens, links, uploads, database }: SharedState & AccessDependencies,
  { logger, resources }: { logger: Logger; resources: AsyncDisposableStack },
): Promise<AccessControl> {
  if (config.ACCESS_FILE === undefined) {
    return { mode: config.ACCESS ?? 'local', policy: () => OPEN_POLICY, authenticators: undefined };
  }
  // Loaded on demand to keep the start short.
  const { watchPolicy } = await import('../access/policy-watcher.ts');
  const { createAuthenticators } = await import('../http/access/authentication.ts');
  let removedUsers: RemovedUsers | undefined;
  const onReload = (policy: Policy) => removedUsers?.note(policy);
  const watcher = await watchPolicy(config.ACCESS_FILE, logger, { names: opened.names, onReload });
  resources.defer(() => watcher.close());
  // A service that only reads must not end what belongs to another one, as in a test of a backup.
  if (!config.READ_ONLY) {
    removedUsers = new RemovedUsers({
      ends: [
        (policy) => links.table.endOfRemoved(policy),
        (policy) => appTokens.table.revokeOfRemoved(policy),
        (policy) => uploads.table.endOfRemoved((name) => policy.userEntry(name) !== undefined),
        (policy) => removeJobsOfRemoved(database, policy),
      ],
      policy: watcher.current(),
      log: { error: (details, message) => logger.error(details, message) },
    });
    resources.adopt(removedUsers, (users) => users.stop()).start();
  }
  const endedSessionsFolder = join(opened.stateFolder, 'ended-sessions');
  await createRevocationFolder(endedSessionsFolder).catch((error: unknown) => {
    throw unusableState(opened.stateFolder, error);
  });
  const authenticators = createAuthenticators({
    policy: () => watcher.current(),
    key: await opened.signingKey(),
    sessionLifetime: config.SESSION_LIFETIME,
    endedSessionsFolder,
    publicUrl: config.PUBLIC_URL,
    basePath: config.BASE_PATH,
    provider: providerSettingsOf(config),
    jwt: jwtSettingsOf(config),
    redis,
    counters: counters?.attempts,
    appTokens: appTokens.lookup,
    warn: (message, details) => logger.warn(details, message),
  });
  resources.defer(() => authenticators.close());
  return {
    mode: 'file',
    policy: () => watcher.current(),
    authenticators,
    historyPermission: config.HISTORY_PERMISSION,
  };
}

function providerSettingsOf(config: Config): ProviderSettings | undefined {
  const { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: clientId } = config;
  if (issuer === undefined || clientId === undefined) return undefined;
  return {
    issuer,
    clientId,
    clientSecret: config.OIDC_CLIENT_SECRET,
    scope: config.OIDC_SCOPE,
    nameClaim: config.OIDC_NAME_CLAIM,
    groupsClaim: config.OIDC_GROUPS_CLAIM,
  };
}

function jwtSettingsOf(config: Config): JwtSettings | undefined {
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience } = config;
  if (issuer === undefined || audience === undefined) return undefined;
  return {
    issuer,
    audience,
    jwksUrl: config.JWT_JWKS_URL,
    nameClaim: config.JWT_NAME_CLAIM,
    groupsClaim: config.JWT_GROUPS_CLAIM,
  };
}
