import type { Folder } from '../../model/folder/folder.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import type { InitialText } from '../../platform/text/language.ts';

/** Returns why the last refresh of the shown folder failed; undefined if it succeeded. */
export function refreshProblem(folder: Folder, text: InitialText): string | undefined {
  const problem = folder.problem.value;
  if (problem === null || folder.state.value !== 'ready') return undefined;
  return problemTitle(problem, text);
}

/** Returns in a few words why a folder could not be read. */
export function problemTitle(problem: ServiceError, { problems }: InitialText): string {
  if (problem.status === 0) return problems.unreachable;
  if (problem.isNotFound) return problems.missing;
  if (problem.isSignInRequired) return problems.signIn;
  if (problem.isPermissionDenied) return problems.denied;
  return problem.isBusy ? problems.busy : problems.openFailed;
}
