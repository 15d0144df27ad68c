import { parentOf, ROOT } from '../../platform/paths.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import { completeLanguage, type FullLanguage, useLanguage, useLanguageSignal } from '../../platform/text/language.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useLoaded } from '../../ui/loading.ts';
import { useActions } from '../actions/actions.ts';
import { useAccount, useFolder, usePermissions, useRouter } from '../models.ts';
import { Drawing, type DrawingName } from './drawing.tsx';
import { problemTitle, refreshProblem } from './problem-titles.ts';
import './folder-view.css';

/** Shows that the folder is empty, and how to fill it. */
export function EmptyFolder() {
  const actions = useActions();
  const permissions = usePermissions();
  const { text } = useLanguage();
  const newFolder = actions.available('newFolder');
  const upload = actions.available('upload');
  const canRead = permissions.allows('read');
  if (!upload) {
    return (
      <div class="state" tabIndex={-1}>
        <Drawing of={canRead ? 'empty' : 'denied'} />
        <p class="title">{canRead ? text.folder.emptyReadOnly : text.folder.nothingToSee}</p>
      </div>
    );
  }
  return (
    <div class="state">
      <Drawing of="empty" />
      <p class="title">{canRead ? text.folder.empty : text.folder.uploadOnly}</p>
      <p class="hint">{text.folder.emptyHint}</p>
      <div class="buttons">
        <Button icon="upload" kind="primary" onClick={() => upload.run()}>
          {text.actions.upload}
        </Button>
        {newFolder && (
          <Button icon="new-folder" onClick={() => newFolder.run()}>
            {text.actions.newFolder}
          </Button>
        )}
      </div>
    </div>
  );
}

/** Shows that no entry matches the filter. */
export function NoMatch() {
  const folder = useFolder();
  const { text } = useLanguage();
  return (
    <div class="state">
      <Drawing of="search" />
      <p class="title">{text.folder.noMatch({ filter: folder.filter.value })}</p>
      <div class="buttons">
        <Button
          onClick={() => {
            folder.filter.value = '';
          }}
        >
          {text.shell.clearFilter}
        </Button>
      </div>
    </div>
  );
}

/** Shows what happened to the folder, and what the user can do. */
export function FolderProblem() {
  const folder = useFolder();
  const router = useRouter();
  const account = useAccount();
  const { text } = useLanguage();
  const problem = folder.problem.value;
  const path = folder.path.value;
  // Another attempt rarely finds what does not exist.
  const canLeave = problem?.isNotFound === true && path !== ROOT;
  const goUp = (kind: 'primary' | 'plain') => (
    <Button kind={kind} icon="arrow-up" onClick={() => router.openFolder(parentOf(path))}>
      {text.problems.goUp}
    </Button>
  );
  const signIn = account?.canSignIn ? usefulSignIn(problem, account.username.value) : undefined;
  return (
    <div class="state" role="alert">
      <Drawing of={drawingOf(problem)} />
      <p class="title">{problem ? problemTitle(problem, text) : text.problems.unreachable}</p>
      {problem && <ProblemDetail problem={problem} />}
      <div class="buttons">
        {signIn && (
          <Button kind="primary" onClick={() => void account?.requestSignIn({ isSwitch: signIn === 'signInAs' })}>
            {text.account[signIn]}
          </Button>
        )}
        {canLeave && goUp('primary')}
        {signIn !== 'signIn' && (
          <Button kind={signIn || canLeave ? 'plain' : 'primary'} icon="refresh" onClick={() => void folder.refresh()}>
            {text.controls.retry}
          </Button>
        )}
        {!canLeave && path !== ROOT && goUp('plain')}
        {parentOf(path) !== ROOT && <Button onClick={() => router.openFolder(ROOT)}>{text.problems.goHome}</Button>}
      </div>
    </div>
  );
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

/** The button that loads the rest of a folder with so many entries that the page does not load all of them by itself. */
export function MoreEntries() {
  const folder = useFolder();
  const { text } = useLanguage();
  if (folder.listing.value !== 'paused' || folder.state.value !== 'ready') return null;
  return (
    <div class="more-entries" role="status">
      <span>{text.folder.paused({ count: folder.count.value })}</span>
      <Button onClick={() => folder.loadMore()}>{text.folder.showMore}</Button>
    </div>
  );
}

function drawingOf(problem: ServiceError | null): DrawingName {
  if (problem?.isNotFound) return 'missing';
  return problem?.isSignInRequired || problem?.isPermissionDenied ? 'denied' : 'unreachable';
}

/** Returns which kind of sign-in can solve the problem, by the name of its text; undefined if none can. */
function usefulSignIn(problem: ServiceError | null, name: string | null): 'signIn' | 'signInAs' | undefined {
  if (problem?.isSignInRequired) return 'signIn';
  return problem?.isPermissionDenied && name !== null ? 'signInAs' : undefined;
}

/** Shows the reason and what the user can do about it. Its text loads when it is needed. */
function ProblemDetail({ problem }: { problem: ServiceError }) {
  const language = useLanguageSignal();
  const loaded = useLoaded(async () => {
    const full = await completeLanguage(language);
    return () => detailOf(problem, full.value);
  }, [problem]);
  return <p class="detail">{loaded.state === 'ready' && loaded.value()}</p>;
}

function detailOf(problem: ServiceError, { text: { states }, reasonOf }: FullLanguage): string {
  if (problem.status === 0) return states.unreachable;
  if (problem.isNotFound) return states.missing;
  if (problem.isSignInRequired) return '';
  if (problem.isPermissionDenied) return states.denied;
  return problem.isBusy ? states.busy : reasonOf(problem);
}
