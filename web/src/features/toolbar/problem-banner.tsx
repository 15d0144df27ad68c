import type { Folder } from '../../model/folder/folder.ts';
import type { InitialText } from '../../platform/text/language.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { problemTitle } from '../folder/problem-title.ts';
import { useFolder } from '../models.ts';
import './toolbar.css';

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
