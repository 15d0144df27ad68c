export { yaml } from '@codemirror/lang-yaml';
