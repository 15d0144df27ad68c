import type { Folder } from '../../model/folder/folder.ts';
import { parentOf, ROOT } from '../../platform/paths.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import { completeLanguage, type InitialText, useLanguage, useLanguageSignal } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useLoaded } from '../../ui/loading.ts';
import { useAccount, useFolder, useRouter } from '../models.ts';
import './folder-view.css';

/** Shows why the folder can't be shown, and what the user can do. */
export function FolderProblem() {
  const folder = useFolder();
  const router = useRouter();
  const account = useAccount();
  const { text } = useLanguage();
  const problem = folder.problem.value;
  const path = folder.path.value;
  const signIn = account?.canSignIn ? usefulSignIn(problem, account.username.value) : undefined;
  return (
    <div class="state" role="alert">
      <p class="title">{problem ? problemTitle(problem, text) : text.problems.unreachable}</p>
      {problem && !isTitleEnough(problem) && <ProblemDetail problem={problem} />}
      <div class="buttons">
        {signIn && (
          <Button kind="primary" onClick={() => void account?.requestSignIn({ isSwitch: signIn === 'signInAs' })}>
            {text.account[signIn]}
          </Button>
        )}
        {signIn !== 'signIn' && (
          <Button kind={signIn ? 'plain' : 'primary'} icon="refresh" onClick={() => void folder.refresh()}>
            {text.controls.retry}
          </Button>
        )}
        {path !== ROOT && (
          <Button icon="arrow-up" onClick={() => router.openFolder(parentOf(path))}>
            {text.problems.goUp}
          </Button>
        )}
        {parentOf(path) !== ROOT && <Button onClick={() => router.openFolder(ROOT)}>{text.problems.goHome}</Button>}
      </div>
    </div>
  );
}

/** Returns which kind of sign-in can solve the problem, by the name of its text; undefined if none can. */
function usefulSignIn(problem: ServiceError | null, name: string | null): 'signIn' | 'signInAs' | undefined {
  if (problem?.isSignInRequired) return 'signIn';
  return problem?.isPermissionDenied && name !== null ? 'signInAs' : undefined;
}

/** Shows the reason in full. Its text loads when it is needed. */
function ProblemDetail({ problem }: { problem: ServiceError }) {
  const language = useLanguageSignal();
  const loaded = useLoaded(async () => {
    const full = await completeLanguage(language);
    return () => full.value.reasonOf(problem);
  }, [problem]);
  return <p class="detail">{loaded.state === 'ready' && loaded.value()}</p>;
}

/** Shows that the shown entries can be outdated, because the last refresh failed. */
export function ProblemBanner() {
  const folder = useFolder();
  const { text } = useLanguage();
  const problem = refreshProblem(folder, text);
  if (problem === undefined) return null;
  return (
    <div class="problem-banner">
      <Icon name="warning" />
      <p>
        {problem} {text.problems.unreachableHint}
      </p>
      <Button onClick={() => void folder.refresh()}>{text.controls.retry}</Button>
    </div>
  );
}

/** Returns why the last refresh of the shown folder failed; undefined if it succeeded. */
export function refreshProblem(folder: Folder, text: InitialText): string | undefined {
  const problem = folder.problem.value;
  if (problem === null || folder.state.value !== 'ready') return undefined;
  return problemTitle(problem, text);
}

/** Returns in a few words why a folder could not be read. */
function problemTitle(problem: ServiceError, { problems }: InitialText): string {
  if (problem.status === 0) return problems.unreachable;
  if (problem.isNotFound) return problems.missing;
  if (problem.isSignInRequired) return problems.signIn;
  if (problem.isPermissionDenied) return problems.denied;
  return problem.isBusy ? problems.busy : problems.openFailed;
}

/** Returns whether the title of a problem says everything that the user has to know. */
function isTitleEnough(problem: ServiceError): boolean {
  return (
    problem.status === 0 ||
    problem.isNotFound ||
    problem.isSignInRequired ||
    problem.isPermissionDenied ||
    problem.isBusy
  );
}
