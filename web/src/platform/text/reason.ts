import type { ServiceError } from '../service/service-error.ts';
import type { Text } from './language.ts';

/** Why something failed: in the words of the service, where it has answered. */
export function reasonOf(error: ServiceError, { problems }: Pick<Text, 'problems'>): string {
  return error.status === 0 ? problems.unreachable : error.message;
}
