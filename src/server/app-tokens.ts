import type { Logger } from 'pino';
import { AppTokenLookup } from '../app-tokens/app-token-lookup.ts';
import { APP_TOKENS_TOPIC, AppTokens } from '../app-tokens/app-tokens.ts';
import type { Database } from '../database/database.ts';
import { RevocationWatch } from '../database/revocation-watch.ts';
import type { AppTokenService } from '../http/service.ts';

/** Creates what app tokens need. `resources` closes it. */
export function createAppTokens(
  database: Database,
  { logger, resources }: { readonly logger: Pick<Logger, 'error'>; readonly resources: AsyncDisposableStack },
): AppTokenService {
  const table = new AppTokens(database);
  const lookup = new AppTokenLookup(table, database, {
    onError: (error) => logger.error({ err: error }, 'The last use of an app token could not be recorded'),
  });
  resources.defer(() => lookup.close());
  const watch = new RevocationWatch((ids) => table.findAll(ids), {
    onError: (error) => logger.error({ err: error }, 'App tokens in use could not be checked'),
  });
  resources.defer(database.listen((topic) => topic === APP_TOKENS_TOPIC && watch.check()));
  return { table, lookup, watch };
}
