// SPDX-License-Identifier: Apache-2.0
// Runs the extension for VS Code on a stand-in of the editor, for run_extension.py: opens a document, asks each provider,
// and prints what the editor was given, as JSON.
"use strict";

const Module = require("module");
const path = require("path");

const [extensionFolder, compiler, sourcePath, source] = process.argv.slice(2);
const given = { diagnostics: [], errors: [] };
const providers = {};
const listeners = {};
const record = (name, fields) =>
  class {
    constructor(...values) {
      fields.forEach((field, i) => (this[field] = values[i]));
      this.is = name;
    }
  };
const uriOf = (text) => ({ toString: () => text });
const listen = (name) => (listener) => {
  listeners[name] = listener;
  return { dispose() {} };
};

class WorkspaceEdit {
  constructor() {
    this.files = {};
  }
  set(uri, edits) {
    this.files[uri.toString()] = edits;
  }
}

const diagnosticsListeners = [];
const vscode = {
  Position: record("position", ["line", "character"]),
  Range: record("range", ["start", "end"]),
  Location: record("location", ["uri", "range"]),
  TextEdit: record("edit", ["range", "newText"]),
  MarkdownString: record("markdown", ["value"]),
  Diagnostic: record("diagnostic", ["range", "message", "severity"]),
  DiagnosticRelatedInformation: record("related", ["location", "message"]),
  CompletionItem: record("completion", ["label", "kind"]),
  SnippetString: record("snippet", ["value"]),
  Hover: record("hover", ["contents", "range"]),
  SignatureHelp: record("help", []),
  SignatureInformation: record("signature", ["label", "documentation"]),
  ParameterInformation: record("parameter", ["label"]),
  DocumentHighlight: record("highlight", ["range", "kind"]),
  DocumentSymbol: record("symbol", ["name", "detail", "kind", "range", "selectionRange"]),
  SymbolInformation: record("information", ["name", "kind", "containerName", "location"]),
  InlayHint: record("hint", ["position", "label", "kind"]),
  CodeAction: record("action", ["title", "kind"]),
  CodeActionKind: { QuickFix: "quickfix" },
  WorkspaceEdit,
  Uri: { parse: uriOf },
  commands: { registerCommand: (name, run) => (providers[name] = run) },
  window: { showErrorMessage: (text) => given.errors.push(text) },
  languages: new Proxy(
    {
      createDiagnosticCollection: () => ({
        set(uri, found) {
          given.diagnostics = found;
          diagnosticsListeners.splice(0).forEach((listener) => listener());
        },
        delete() {},
        clear() {},
      }),
    },
    {
      // registerHoverProvider(language, provider) and its kind; one has no language.
      get: (target, name) =>
        target[name] || ((...values) => Object.assign(providers, values.find((v) => typeof v === "object"))),
    },
  ),
  workspace: {
    getConfiguration: () => ({ get: (name) => (name === "compiler" ? compiler : []) }),
    workspaceFolders: undefined,
    textDocuments: [],
    onDidOpenTextDocument: listen("open"),
    onDidChangeTextDocument: listen("change"),
    onDidSaveTextDocument: listen("save"),
    onDidCloseTextDocument: listen("close"),
  },
};
const load = Module._load;
Module._load = (name, ...rest) => (name === "vscode" ? vscode : load(name, ...rest));

const document = {
  uri: uriOf("file://" + sourcePath), languageId: "dhp", version: 1, getText: () => source,
};
const nextDiagnostics = () => new Promise((resolve) => diagnosticsListeners.push(resolve));

async function main() {
  const extension = require(path.join(extensionFolder, "extension.js"));
  vscode.workspace.textDocuments.push(document);
  const first = nextDiagnostics();
  await extension.activate({ subscriptions: [] });
  if (given.errors.length !== 0) return;
  await first;
  const lines = source.split("\n");
  const line = lines.findIndex((text) => text.includes("twice(4)"));
  const at = new vscode.Position(line, lines[line].indexOf("twice") + 2);
  const whole = new vscode.Range(new vscode.Position(0, 0), new vscode.Position(lines.length, 0));
  given.hover = await providers.provideHover(document, at);
  given.definition = await providers.provideDefinition(document, at);
  given.references = await providers.provideReferences(document, at, { includeDeclaration: true });
  given.highlights = await providers.provideDocumentHighlights(document, at);
  given.completion = await providers.provideCompletionItems(document, at);
  given.signature = await providers.provideSignatureHelp(
    document, new vscode.Position(line, lines[line].indexOf("(4") + 1));
  given.symbols = await providers.provideDocumentSymbols(document);
  given.hints = await providers.provideInlayHints(document, whole);
  given.formatting = await providers.provideDocumentFormattingEdits(document, {});
  given.actions = await providers.provideCodeActions(document, whole, { diagnostics: given.diagnostics });
  given.place = await providers.prepareRename(document, at);
  given.rename = await providers.provideRenameEdits(document, at, "double");
  given.firstDiagnostics = given.diagnostics;
  const second = nextDiagnostics();
  const wrong = lines.findIndex((text) => text.includes("cuont"));
  const from = lines[wrong].indexOf("cuont");
  listeners.change({
    document,
    contentChanges: [{
      range: new vscode.Range(new vscode.Position(wrong, from), new vscode.Position(wrong, from + 5)), text: "count",
    }],
  });
  await second;
  listeners.close(document);
  await extension.deactivate();
}

main().then(() => console.log(JSON.stringify(given)));
