import { computed } from '@preact/signals';
import type { Embedded } from '../embedded.ts';
import type { Location } from '../location.ts';
import { createService, type Service } from '../service/service.ts';
import { whoIsSignedIn } from '../service/session.ts';
import { type Account, type AccountOptions, createAccount } from './account.ts';
import { createRights, type Rights } from './rights.ts';
import { watchService } from './watched-service.ts';

interface AccessOptions extends Omit<AccountOptions, 'access' | 'isShutOut'> {
  readonly embedded: Embedded;
  readonly location: Location;
}

/** Who uses the page, what they may do, and the service as they have it. */
export interface Access {
  /** Null where there is nobody to be. */
  readonly account: Account | null;
  readonly rights: Rights;
  readonly service: Service;
}

export function createAccess({ embedded, location, ...options }: AccessOptions): Access {
  const { access, answer, readOnly: isReadOnly } = embedded;
  const { urls } = options;
  const isShutOut = answer instanceof Error && answer.status === 401;
  const account = access && createAccount({ access, isShutOut, ...options });
  const shown = computed(() => location.place.value.folder);
  const rights = createRights({ isReadOnly, isControlled: account !== null, shown });
  if (!(answer instanceof Error)) rights.learn(answer);
  const service = createService(urls);
  const whoIs = () => whoIsSignedIn(urls).catch(() => undefined);
  return { account, rights, service: account ? watchService(service, { account, rights, whoIs }) : service };
}
