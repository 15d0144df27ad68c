import type { ServiceError } from '../../platform/service/service-error.ts';
import type { InitialText } from '../../platform/text/language.ts';

/** Returns in a few words why a folder could not be read. */
export function problemTitle(problem: ServiceError, { problems }: InitialText): string {
  if (problem.status === 0) return problems.unreachable;
  if (problem.isNotFound) return problems.missing;
  if (problem.isSignInRequired) return problems.signIn;
  if (problem.isPermissionDenied) return problems.denied;
  return problem.isBusy ? problems.busy : problems.refused;
}

/** Returns whether the title of a problem says everything that the user has to know. */
export function isTitleEnough(problem: ServiceError): boolean {
  return (
    problem.status === 0 ||
    problem.isNotFound ||
    problem.isSignInRequired ||
    problem.isPermissionDenied ||
    problem.isBusy
  );
}
