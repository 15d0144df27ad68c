import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { problemTitle } from '../../folder/problem-title.ts';
import { type Page, usePage } from '../page.ts';
import { useLanguage } from '../../platform/text/language-context.ts';
import './problem-banner.css';

/** Says that what is shown could not be read again, for as long as that is so. */
export function ProblemBanner() {
  const page = usePage();
  const { text } = useLanguage();
  const words = problemOf(page);
  if (words === undefined) return null;
  return (
    <div class="problem-banner">
      <Icon name="warning" />
      <p>
        {words} {text.problems.unreachableHint}
      </p>
      <Button onClick={() => void page.folder.refresh()}>{text.controls.retry}</Button>
    </div>
  );
}

/** Why the folder that is shown could not be read again; undefined where nothing is known against it. */
export function problemOf({ folder, language }: Page): string | undefined {
  const problem = folder.problem.value;
  if (problem === null || folder.state.value !== 'ready') return undefined;
  return problemTitle(problem, language.value.text);
}
