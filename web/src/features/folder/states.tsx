import { useEffect, useState } from 'preact/hooks';
import { parentOf, ROOT } from '../../platform/paths.ts';
import type { ServiceError } from '../../platform/service/service-error.ts';
import { completeLanguage } from '../../platform/text/language.ts';
import { useLanguage, useLanguageSignal } from '../../platform/text/language-context.ts';
import { Button } from '../../ui/button.tsx';
import { useLoaded } from '../../ui/loading.ts';
import { useActions } from '../actions/actions.ts';
import { useAccount, useFolder, usePermissions, useRouter } from '../models.ts';
import { isTitleEnough, problemTitle } from './problem-title.ts';
import './folder-view.css';

/** The delay before the placeholder appears: most folders load faster. */
const SKELETON_DELAY_MS = 150;

/** The placeholder of a folder that is loading. */
export function Skeleton() {
  const { text } = useLanguage();
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), SKELETON_DELAY_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div class="skeleton" role="status">
      <span class="visually-hidden">{text.folder.loading}</span>
      {isShown && Array.from({ length: 12 }, (_, index) => <div key={index} class="bone" />)}
    </div>
  );
}

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
        <Drawing />
        <p>{canRead ? text.folder.emptyReadOnly : text.folder.nothingToSee}</p>
      </div>
    );
  }
  return (
    <div class="state">
      <Drawing />
      <p>
        {canRead ? text.folder.empty : text.folder.uploadOnly} <span class="hint">{text.folder.emptyHint}</span>
      </p>
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

/** An empty bag. */
function Drawing() {
  return (
    <svg class="drawing" viewBox="0 0 120 80" aria-hidden="true">
      <path d="M22 34h76l-6 34a6 6 0 0 1-6 5H34a6 6 0 0 1-6-5z" />
      <path d="M44 34c0-12 6-20 16-20s16 8 16 20" />
      <path class="faint" d="M40 46l2 16M60 46v16M80 46l-2 16" />
      <path class="faint" d="M12 22l6 4M108 22l-6 4M60 2v5" />
    </svg>
  );
}

export function NoMatch() {
  const folder = useFolder();
  const { text } = useLanguage();
  return (
    <div class="state">
      <p>{text.folder.noMatch({ filter: folder.filter.value })}</p>
      <Button
        onClick={() => {
          folder.filter.value = '';
        }}
      >
        {text.shell.clearFilter}
      </Button>
    </div>
  );
}

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

/** The button that loads the rest of a folder with so many entries that the page does not load all of them by itself. */
export function MoreEntries() {
  const folder = useFolder();
  const { text } = useLanguage();
  if (folder.listing.value !== 'paused') return null;
  return (
    <div class="more-entries" role="status">
      <span>{text.folder.paused({ count: folder.count.value })}</span>
      <Button onClick={() => folder.loadMore()}>{text.folder.readOn}</Button>
    </div>
  );
}
